#pragma once
#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer's loop (from compiler-rt, clang_rt.fuzzer_no_main).
///
/// Returns the exit code when the limit given in the arguments (`-max_total_time`, `-runs`) is
/// reached.
int LLVMFuzzerRunDriver(
    int *_Nonnull argc, char *_Nullable *_Nonnull *_Nonnull argv,
    int (*_Nonnull callback)(const uint8_t *_Nullable data, size_t size));
