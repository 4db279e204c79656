/* Tests of backwater.h from C: exact times, order, misuse. `capi N` sends N messages at random. It ends with 0 if all hold. */
#include "backwater.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLDS(condition)                                                                                                            \
    do {                                                                                                                            \
        if (!(condition)) {                                                                                                         \
            fprintf(stderr, "%s:%d: %s does not hold; the last error: %s\n", __FILE__, __LINE__, #condition, bw_error());           \
            exit(1);                                                                                                                \
        }                                                                                                                           \
    } while (0)
#define OK(call) HOLDS((call) == BW_OK)

_Static_assert(sizeof(bw_event) == 24, "as in the library");
_Static_assert(sizeof(bw_link_counters) == 72, "as in the library");
_Static_assert(sizeof(bw_totals) == 40, "as in the library");
_Static_assert(sizeof(bw_options) == 2 * sizeof(uint64_t) + 4 * sizeof(char *), "as in the library");

/* Frames of 4064 B take 325,120 ps and acknowledgements of 64 B take 5,120 ps at 100 Gb/s; links take 500,000 ps. */
static const char STAR[] = "[topology]\nkind = \"star\"\nhosts = 4\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n"
                           "[switch]\nlatency = \"0 ns\"\n"
                           "[packet]\npayload = \"4000 B\"\nheader = \"64 B\"\ngap = \"0 B\"\n"
                           "[ack]\nsize = \"64 B\"\n";
static const char RECOVERY[] = "[transport]\nrecovery = \"go-back-n\"\ntimeout = \"200 us\"\n";

static bw_run opened(const char *scenario, const bw_options *options) {
    bw_run run = 0;
    OK(bw_open(scenario, strlen(scenario), options, &run));
    HOLDS(run != 0);
    return run;
}

/* A call fails with this code, and its text has these words and a hint. */
static void fails(int code, int expected, const char *words) {
    if (code != expected || strstr(bw_error(), words) == NULL || strstr(bw_error(), "hint: ") == NULL) {
        fprintf(stderr, "%d instead of %d, \"%s\" instead of \"%s\"\n", code, expected, bw_error(), words);
        exit(1);
    }
}

static void exact_times(void) {
    bw_options options;
    OK(bw_options_default(&options));
    options.flags |= BW_TELL_SENT;
    bw_run run = opened(STAR, &options);
    OK(bw_send(run, 0, 1, 8000, BW_CLASS_DEFAULT, 1000000, 42));
    OK(bw_timer(run, 2000000, 43));
    const uint64_t last = 1000000 + 3 * 325120 + 2 * 500000;
    const bw_event expected[] = {{1000000 + 325120, 42, BW_SENT, 0},
                                 {2000000, 43, BW_TIMER, 0},
                                 {last, 42, BW_DELIVERED, 0},
                                 {last + 2 * (5120 + 500000), 42, BW_ACKNOWLEDGED, 0}};
    uint64_t now;
    for (size_t i = 0; i < 4; i++) {
        bw_event events[4];
        size_t count = 0;
        OK(bw_step(run, BW_NEVER, events, 4, &count));
        HOLDS(count == 1 && memcmp(&events[0], &expected[i], sizeof events[0]) == 0);
        OK(bw_now(run, &now));
        HOLDS(now == expected[i].at_ps);
    }
    size_t count = 7;
    OK(bw_step(run, BW_NEVER, NULL, 0, &count));
    HOLDS(count == 0);
    OK(bw_step(run, 9000000, NULL, 0, &count));
    OK(bw_now(run, &now));
    HOLDS(count == 0 && now == 9000000);
    /* Two frames of data on one link, two acknowledgements on another. */
    uint32_t links, data = 0, acknowledged = 0;
    OK(bw_links(run, &links));
    HOLDS(links == 8);
    for (uint32_t link = 0; link < links; link++) {
        bw_link_counters counters;
        char from[8], to[8];
        OK(bw_link(run, link, &counters));
        OK(bw_node_name(run, counters.from_node, from, sizeof from));
        OK(bw_node_name(run, counters.to_node, to, sizeof to));
        HOLDS(counters.rate_bps == 100000000000);
        data += strcmp(from, "h0") == 0 && counters.tx_frames == 2 && counters.tx_bytes == 2 * 4064;
        acknowledged += strcmp(to, "h0") == 0 && counters.tx_frames == 2 && counters.tx_bytes == 2 * 64;
    }
    HOLDS(data == 1 && acknowledged == 1);
    bw_totals totals;
    OK(bw_count(run, &totals));
    HOLDS(totals.messages == 1 && totals.ended == 1 && totals.hops == 8 && totals.drops == 0);
    OK(bw_close(run));
}

static void little_room(void) {
    bw_run run = opened(STAR, NULL);
    for (uint64_t token = 0; token < 10; token++)
        OK(bw_timer(run, 5000, token));
    for (uint64_t token = 0; token < 10; token += 3) {
        bw_event events[3];
        size_t count;
        fails(bw_step(run, BW_NEVER, NULL, 0, &count), BW_ERROR_ARGUMENT, "no room");
        fails(bw_step(run, BW_NEVER, NULL, 3, &count), BW_ERROR_ARGUMENT, "null pointer");
        fails(bw_step(run, BW_NEVER, events, 3, NULL), BW_ERROR_ARGUMENT, "null pointer");
        if (token > 0)
            fails(bw_save(run, "never"), BW_ERROR_ARGUMENT, "have not been taken");
        OK(bw_step(run, BW_NEVER, events, 3, &count));
        HOLDS(count == (token == 9 ? 1 : 3) && events[0].token == token && events[0].at_ps == 5000);
    }
    OK(bw_close(run));
}

static void misuse(void) {
    bw_run run, other = 77;
    uint32_t number;
    uint64_t now;
    size_t count;
    bw_event event;
    bw_options options;
    char name[3];
    fails(bw_open(NULL, 5, NULL, &run), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_open(STAR, SIZE_MAX, NULL, &run), BW_ERROR_ARGUMENT, "octets");
    fails(bw_open(STAR, strlen(STAR), NULL, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_open("a\xff", 2, NULL, &run), BW_ERROR_ARGUMENT, "UTF-8");
    fails(bw_open("[topology]\nkind = \"stra\"\n", 25, NULL, &other), BW_ERROR_ARGUMENT, "<text>:2:8: topology.kind");
    HOLDS(other == 0);
    fails(bw_options_default(NULL), BW_ERROR_ARGUMENT, "null pointer");
    OK(bw_options_default(&options));
    options.version = 99;
    fails(bw_open(STAR, strlen(STAR), &options, &run), BW_ERROR_ARGUMENT, "version 99");
    OK(bw_options_default(&options));
    options.flags = 1u << 20;
    fails(bw_open(STAR, strlen(STAR), &options, &run), BW_ERROR_ARGUMENT, "flag 0x100000");
    OK(bw_options_default(&options));
    options.flags |= BW_KEEP_CONNECTIONS;
    fails(bw_open(STAR, strlen(STAR), &options, &run), BW_ERROR_ARGUMENT, "recovery");

    run = opened(STAR, NULL);
    fails(bw_send(run, 4, 1, 10, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ARGUMENT, "no host 4");
    fails(bw_send(run, 0, UINT32_MAX, 10, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ARGUMENT, "no host 4294967295");
    fails(bw_send(run, 2, 2, 10, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ARGUMENT, "to itself");
    fails(bw_send(run, 0, 1, 10, 8, 0, 0), BW_ERROR_ARGUMENT, "class");
    fails(bw_send(run, 0, 1, 10, 300, 0, 0), BW_ERROR_ARGUMENT, "class");
    fails(bw_send(run, 0, 1, 0, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ARGUMENT, "1 B to");
    fails(bw_send(run, 0, 1, UINT64_MAX, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ARGUMENT, "2^60");
    fails(bw_send(run, 0, 1, 10, BW_CLASS_DEFAULT, UINT64_MAX, 0), BW_ERROR_ARGUMENT, "last time");
    OK(bw_step(run, 5000000, &event, 1, &count));
    fails(bw_timer(run, 4999999, 0), BW_ERROR_ARGUMENT, "has passed");
    fails(bw_step(run, 4999999, &event, 1, &count), BW_ERROR_ARGUMENT, "has passed");
    fails(bw_link(run, 8, NULL), BW_ERROR_ARGUMENT, "no link 8");
    fails(bw_link(run, 0, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_node_name(run, 5, name, 3), BW_ERROR_ARGUMENT, "no node 5");
    fails(bw_node_name(run, 0, name, 0), BW_ERROR_ARGUMENT, "no room");
    fails(bw_node_name(run, 0, NULL, 3), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_host(run, NULL, &number), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_host(run, "h4", &number), BW_ERROR_ARGUMENT, "no host `h4`");
    fails(bw_host(run, "\xff", &number), BW_ERROR_ARGUMENT, "UTF-8");
    fails(bw_hosts(run, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_links(run, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_now(run, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_count(run, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_save(run, NULL), BW_ERROR_ARGUMENT, "null pointer");
    fails(bw_save(run, "/no/such/directory/run"), BW_ERROR_ARGUMENT, "cannot be written");
    fails(bw_resume(STAR, strlen(STAR), NULL, "/no/such/file", &other), BW_ERROR_ARGUMENT, "cannot be read");
    OK(bw_hosts(run, &number));
    HOLDS(number == 4);
    OK(bw_host(run, "h3", &number));
    HOLDS(number == 3);
    OK(bw_close(run));

    fails(bw_close(run), BW_ERROR_RUN, "was closed");
    fails(bw_close(0), BW_ERROR_RUN, "no run 0");
    fails(bw_send(run, 0, 1, 10, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_RUN, "was closed");
    fails(bw_timer(run, 1, 0), BW_ERROR_RUN, "was closed");
    fails(bw_step(run, BW_NEVER, &event, 1, &count), BW_ERROR_RUN, "was closed");
    fails(bw_now(UINT64_MAX, &now), BW_ERROR_RUN, "never opened");

    char ends[sizeof STAR + 32];
    snprintf(ends, sizeof ends, "%s[stop]\nat = \"10 us\"\n", STAR);
    run = opened(ends, NULL);
    OK(bw_step(run, BW_NEVER, &event, 1, &count));
    HOLDS(count == 0);
    fails(bw_step(run, BW_NEVER, &event, 1, &count), BW_ERROR_ENDED, "has ended at 10 us");
    fails(bw_send(run, 0, 1, 10, BW_CLASS_DEFAULT, 0, 0), BW_ERROR_ENDED, "has ended");
    OK(bw_close(run));
}

/* The constants of a generator of random numbers: Knuth, MMIX. */
static uint64_t dice(uint64_t *state, uint64_t sides) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % sides;
}

/* Sends so many messages at random, in answer to all that happens. Returns a hash of all events. */
static uint64_t at_random(bw_run run, uint64_t messages, uint64_t seed) {
    uint64_t state = seed, hash = 0, sent = 0, open = 0;
    for (;;) {
        for (; sent < messages && open < 100; sent++, open++) {
            uint32_t source = (uint32_t)dice(&state, 4);
            uint32_t destination = (source + 1 + (uint32_t)dice(&state, 3)) % 4;
            OK(bw_send(run, source, destination, 1 + dice(&state, 20000), BW_CLASS_DEFAULT, dice(&state, 3) * 1000000, sent));
        }
        bw_event events[16];
        size_t count;
        OK(bw_step(run, BW_NEVER, events, 16, &count));
        if (count == 0)
            return hash;
        for (size_t i = 0; i < count; i++) {
            hash = (hash ^ events[i].at_ps ^ events[i].token << 40 ^ events[i].kind) * 0x9E3779B97F4A7C15u;
            open -= events[i].kind == BW_ACKNOWLEDGED;
            if (events[i].kind == BW_DELIVERED && dice(&state, 4) == 0)
                OK(bw_timer(run, events[i].at_ps + dice(&state, 1000000), events[i].token));
        }
    }
}

static void equal_runs(uint64_t messages) {
    char scenario[sizeof STAR + sizeof RECOVERY];
    snprintf(scenario, sizeof scenario, "%s%s", STAR, RECOVERY);
    uint64_t hashes[3];
    for (int i = 0; i < 3; i++) {
        bw_options options;
        OK(bw_options_default(&options));
        options.flags |= BW_KEEP_CONNECTIONS | BW_TELL_SENT | BW_SEED;
        options.seed = 7;
        bw_run run = opened(scenario, &options), other = opened(STAR, NULL);
        hashes[i] = at_random(run, messages, i < 2 ? 1 : 2);
        bw_totals totals;
        OK(bw_count(run, &totals));
        HOLDS(totals.messages == messages && totals.ended == messages);
        OK(bw_close(other));
        OK(bw_close(run));
    }
    HOLDS(hashes[0] == hashes[1] && hashes[0] != hashes[2]);
}

/* A saved run goes on as the one that was saved. */
static void saved(const char *folder) {
    char path[4096];
    HOLDS((size_t)snprintf(path, sizeof path, "%s/saved", folder) < sizeof path);
    bw_run run = opened(STAR, NULL), resumed;
    for (uint32_t i = 0; i < 30; i++)
        OK(bw_send(run, i % 4, (i + 1) % 4, 9000, 4, i * 200000, i));
    size_t count = 1;
    bw_event events[8];
    OK(bw_step(run, 3000000, events, 8, &count));
    OK(bw_save(run, path));
    OK(bw_resume(STAR, strlen(STAR), NULL, path, &resumed));
    HOLDS(at_random(run, 0, 1) == at_random(resumed, 0, 1));
    bw_totals totals[2];
    OK(bw_count(run, &totals[0]));
    OK(bw_count(resumed, &totals[1]));
    HOLDS(memcmp(&totals[0], &totals[1], sizeof totals[0]) == 0);
    OK(bw_close(run));
    OK(bw_close(resumed));
    bw_options options;
    OK(bw_options_default(&options));
    options.flags |= BW_SEED;
    fails(bw_resume(STAR, strlen(STAR), &options, path, &resumed), BW_ERROR_ARGUMENT, "other choices");
}

/* A directory with the run as a scenario. */
static void directory(const char *folder) {
    char path[4096], table[4200], line[64];
    HOLDS((size_t)snprintf(path, sizeof path, "%s/run", folder) < sizeof path);
    snprintf(table, sizeof table, "%s/messages.csv", path);
    bw_options options;
    OK(bw_options_default(&options));
    options.directory = path;
    bw_run run = opened(STAR, &options);
    OK(bw_send(run, 3, 1, 8000, BW_CLASS_DEFAULT, 1000, 9));
    fails(bw_save(run, "never"), BW_ERROR_ARGUMENT, "cannot be saved");
    OK(bw_close(run));
    FILE *file = fopen(table, "r");
    HOLDS(file != NULL && fgets(line, sizeof line, file) && fgets(line, sizeof line, file));
    HOLDS(strcmp(line, "0,3,1,8000,1000,3\n") == 0);
    fclose(file);
    fails(bw_open(STAR, strlen(STAR), &options, &run), BW_ERROR_ARGUMENT, "another run");
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: capi MESSAGES FOLDER\n");
        return 2;
    }
    HOLDS(bw_api_version() == BW_API_VERSION);
    exact_times();
    little_room();
    misuse();
    equal_runs(strtoull(arguments[1], NULL, 10));
    saved(arguments[2]);
    directory(arguments[2]);
    return 0;
}
