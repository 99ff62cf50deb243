#pragma once
/// Time, CPU and memory of a stretch of work, and the line of JSON that tells them.
#include <stdint.h>

/// The five header fields that every measured request carries.
extern const char *const request_fields[5];

struct measure {
    int64_t wall_us, cpu_us;
};

int64_t now_us(void);
int64_t now_ns(void);
struct measure measure_begin(void);
/// Prints the line; `latencies` (ns, `count` of them, the first that ended first, sorted in place) may
/// be NULL.
void measure_end(
    const struct measure *begun, const char *name, int n, long count, int64_t *latencies);
