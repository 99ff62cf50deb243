#define _GNU_SOURCE
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

const char *const request_fields[5] = {
    "Accept: application/json",
    "Accept-Language: en;q=1.0",
    "User-Agent: OutletBench/1.0",
    "Authorization: Bearer 0123456789abcdef0123456789abcdef",
    "X-Request-ID: 6f1c2e34-9a4b-4c56-8f77-0123456789ab",
};

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t now_us(void) { return now_ns() / 1000; }

static int64_t cpu_us(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

struct measure measure_begin(void) {
    struct measure begun = {.wall_us = now_us(), .cpu_us = cpu_us()};
    return begun;
}

/// Returns the peak resident memory. `ru_maxrss` cannot replace it: it also counts the process
/// before exec, which is a copy of its parent.
static double peak_mib(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) == 1) break;
    if (status) fclose(status);
    return (double)kib / 1024;
}

static int compare(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return left < right ? -1 : left > right;
}

void measure_end(
    const struct measure *begun, const char *name, int n, long count, int64_t *latencies) {
    double wall = (double)(now_us() - begun->wall_us);
    double cpu = (double)(cpu_us() - begun->cpu_us);
    double first = latencies ? (double)latencies[0] / 1e9 : 0;
    if (latencies) qsort(latencies, (size_t)count, sizeof *latencies, compare);
    printf(
        "{\"name\":\"%s\",\"n\":%d,\"req_per_s\":%.0f,\"cpu_us_per_req\":%.2f,"
        "\"p50_us\":%.1f,\"p99_us\":%.1f,\"peak_rss_mib\":%.1f,\"wall_s\":%.4f,\"first_s\":%.4f}\n",
        name, n, (double)count * 1e6 / wall, cpu / (double)count,
        latencies ? (double)latencies[count / 2] / 1e3 : 0,
        latencies ? (double)latencies[count * 99 / 100] / 1e3 : 0, peak_mib(),
        wall / 1e6, first);
}
