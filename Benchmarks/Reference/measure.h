#pragma once
/// Measures time, CPU time and memory of a piece of work, and prints them as a line of JSON.
#include <stdint.h>

/// The five header fields of every measured request.
extern const char *const request_fields[5];

struct measure {
    int64_t wall_us, cpu_us;
};

int64_t now_us(void);
int64_t now_ns(void);
struct measure measure_begin(void);
/// Prints the line.
///
/// `latencies` are `count` durations in nanoseconds, in the order of the requests' ends. They are
/// sorted in place. NULL means that they were not measured.
void measure_end(
    const struct measure *begun, const char *name, int n, long count, int64_t *latencies);
