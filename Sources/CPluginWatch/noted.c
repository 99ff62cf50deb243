#define _GNU_SOURCE
#include "noted.h"
#include "CPluginWatch.h"
#include "text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { noted_limit = 64 };

/* The plugins; the last ones are missing where there is no room. */
static struct {
    char plugin[id_size];
    uint32_t library;
} noted[noted_limit];
/* Their number; noted_limit + 1 if there was no room. */
static atomic_int noted_count;
static pthread_mutex_t noted_lock = PTHREAD_MUTEX_INITIALIZER;

int watch_count_noted(uint32_t library) {
    int known = atomic_load(&noted_count), count = 0;
    if (known > noted_limit) return known;
    for (int i = 0; i < known; i++) count += noted[i].library == library;
    return count;
}

void watch_append_noted(char *line, const char *text, const uint32_t *library) {
    int known = atomic_load(&noted_count);
    for (int i = 0; i < known && i < noted_limit; i++) {
        if (library && noted[i].library != *library) continue;
        if (strlen(line) + strlen(text) + strlen(noted[i].plugin) > line_size - 2) break;
        watch_append(line, text);
        watch_append(line, noted[i].plugin);
        text = ", ";
    }
}

void cpluginwatch_note(const char *plugin, uint32_t library) {
    pthread_mutex_lock(&noted_lock);
    int count = atomic_load(&noted_count), i = 0;
    char id[id_size];
    watch_copy_text(id, sizeof id, plugin);
    while (i < count && i < noted_limit && (noted[i].library != library || strcmp(noted[i].plugin, id) != 0)) i++;
    if (i == count && count < noted_limit) {
        memcpy(noted[i].plugin, id, sizeof id);
        noted[i].library = library;
        atomic_store(&noted_count, count + 1);
    } else if (i == noted_limit) {
        atomic_store(&noted_count, noted_limit + 1);
    }
    pthread_mutex_unlock(&noted_lock);
}
