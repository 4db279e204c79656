/* Backwater's network for other programs: they send messages while it runs, set timers, and learn of every moment in its order.
 *
 *     bw_run run;
 *     if (bw_open(toml, strlen(toml), NULL, &run) != BW_OK) { fputs(bw_error(), stderr); exit(1); }
 *     bw_send(run, 0, 1, 1000000, BW_CLASS_DEFAULT, 0, 7);        // from host 0 to host 1, 1 MB, at once; its token is 7
 *     bw_event events[64];
 *     size_t count;
 *     while (bw_step(run, BW_NEVER, events, 64, &count) == BW_OK && count > 0)
 *         for (size_t i = 0; i < count; i++)
 *             printf("%" PRIu64 " ps: %" PRIu64 "\n", events[i].at_ps, events[i].token);
 *     bw_close(run);
 *
 * Units       Times are integer picoseconds from the begin of the run (`_ps`), sizes are octets of payload, rates bits per second.
 * Time        It passes in bw_step only. There are no callbacks: a step returns all that happens at the next instant, and answers to
 *             it may start at that very instant. The same calls give the same picoseconds, on every machine.
 * Ownership   A run is a number, which belongs to whoever opened it until he closes it. No number is used twice: a closed run is an
 *             error, never undefined. What is passed by pointer belongs to the caller, and is not used after the call has returned.
 *             A null pointer is an error, unless the function permits it.
 * Errors      Every function that can fail returns BW_OK (0) or a negative BW_ERROR. After an error, bw_error() has the text: place,
 *             reason, and a hint in a line of its own. A call that failed has changed nothing, unless its comment says so.
 * Threads     Any thread may call. Calls for one run take turns; runs are independent of each other. A run has one thread: it works in
 *             the thread that calls bw_step.
 */
#ifndef BACKWATER_H
#define BACKWATER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes when a program must be compiled anew. */
#define BW_API_VERSION 1

/* A run. 0 is never one. */
typedef uint64_t bw_run;

/* Results of calls. */
#define BW_OK 0
/* An argument, the scenario, or a file cannot be used. */
#define BW_ERROR_ARGUMENT (-1)
/* There is no such run: it was closed, or never opened. */
#define BW_ERROR_RUN (-2)
/* The run has ended: at `stop.at`, by a broken promise of its scenario, or in a deadlock. It can still be counted and closed. */
#define BW_ERROR_ENDED (-3)
/* A defect of Backwater. The run can only be closed. */
#define BW_ERROR_DEFECT (-4)

/* No limit of time. */
#define BW_NEVER UINT64_MAX
/* The class of a message that names none: 3. */
#define BW_CLASS_DEFAULT UINT32_MAX

/* What happens to a message, and a timer. */
/* The sender's interface has taken the message's last octet: its memory may be used again. Only with BW_TELL_SENT. */
#define BW_SENT 0
/* The receiver has the last octet. */
#define BW_DELIVERED 1
/* The sender has the last acknowledgement; in a network without acknowledgements, the receiver has the last octet. */
#define BW_ACKNOWLEDGED 2
/* The sender has given up (`transport.retries`). It is always told. */
#define BW_FAILED 3
/* A timer is due. */
#define BW_TIMER 4

/* Choices of bw_options.flags. Without BW_TELL_DELIVERED and BW_TELL_ACKNOWLEDGED these moments pass without a stop. */
#define BW_TELL_SENT 1u
#define BW_TELL_DELIVERED 2u
#define BW_TELL_ACKNOWLEDGED 4u
/* All messages from one host to another follow each other on one connection, as on a queue pair, in the class of the first of them. It
 * needs `transport.recovery`. Without it, each message has a connection of its own. */
#define BW_KEEP_CONNECTIONS 8u
/* Take the seed from bw_options.seed. Without it, the scenario's counts. */
#define BW_SEED 16u

/* Choices for bw_open and bw_resume. bw_options_default fills it. */
typedef struct bw_options {
    /* Seed of all random streams, with BW_SEED. */
    uint64_t seed;
    /* Directory to which names of files in the scenario are relative; null: the current one. */
    const char *base;
    /* Name of the scenario in errors; null: `<text>`. */
    const char *name;
    /* Label of the group of the messages, by which a scenario confines mechanisms; null: `messages`. */
    const char *label;
    /* Directory to be created for the run as a scenario with a table of its messages; null: none. `backwater run
     * DIRECTORY/scenario.toml` gives all results of the same run, to the picosecond. */
    const char *directory;
    /* BW_TELL_..., BW_KEEP_CONNECTIONS, BW_SEED. */
    uint32_t flags;
    /* BW_API_VERSION. */
    uint32_t version;
} bw_options;

/* Something that has happened. */
typedef struct bw_event {
    /* When: the time of the run. */
    uint64_t at_ps;
    /* The token that the message or timer was given. */
    uint64_t token;
    /* BW_SENT, BW_DELIVERED, BW_ACKNOWLEDGED, BW_FAILED or BW_TIMER. */
    uint32_t kind;
    /* 0. */
    uint32_t reserved;
} bw_event;

/* One direction of a link: the port that sends, and its totals so far. */
typedef struct bw_link_counters {
    /* The rate of the port, in bits per second. */
    uint64_t rate_bps;
    /* Frames sent, pauses included, and the octets of them with headers, without preamble and gap. */
    uint64_t tx_frames;
    uint64_t tx_bytes;
    /* Data frames sent with a congestion mark. */
    uint64_t marked_frames;
    /* Frames that arrived at this port and found no memory. */
    uint64_t dropped_frames;
    /* Time in which the neighbour paused at least one class of this port, up to the last event. */
    uint64_t paused_ps;
    /* Largest number of octets that waited for this port at once; 0 at a host. */
    uint64_t max_waiting_bytes;
    /* The nodes, for bw_node_name. */
    uint32_t from_node;
    uint32_t to_node;
    /* The number of the port at `from_node`. */
    uint32_t port;
    /* 0. */
    uint32_t reserved;
} bw_link_counters;

/* Totals of a run. */
typedef struct bw_totals {
    /* Messages sent, and those of them that have ended: acknowledged, or failed. */
    uint64_t messages;
    uint64_t ended;
    /* Frames put on a link, and frames dropped for want of memory. */
    uint64_t hops;
    uint64_t drops;
    /* A hash of all arrivals of frames: equal for equal runs. */
    uint64_t fingerprint;
} bw_totals;

/* BW_API_VERSION of the library: compare it with that of this header. */
uint32_t bw_api_version(void);

/* The text of this thread's last error. It is valid until the thread's next call of a function that can fail. Never null. */
const char *bw_error(void);

/* Fills the choices of a call that passes none: all moments but BW_SENT are told. */
int bw_options_default(bw_options *options);

/* Opens a run of a scenario, the TOML text of `length` octets, at time 0. It may have flows and jobs of its own. `options` may be
 * null. Takes the time of building a network: a second for some ten thousand hosts. */
int bw_open(const char *scenario, size_t length, const bw_options *options, bw_run *run);

/* The number of hosts. They are numbered from 0. */
int bw_hosts(bw_run run, uint32_t *hosts);

/* The number of a host by its name in the scenario, such as `h12`. */
int bw_host(bw_run run, const char *name, uint32_t *host);

/* Sends a message of 1 to 2^60 octets from one host to another, `delay_ps` from now. `traffic_class`: 0 to 7, or
 * BW_CLASS_DEFAULT. The events of the message carry `token`, which may have any value. Messages of one instant start in the order of
 * the calls. */
int bw_send(bw_run run, uint32_t source, uint32_t destination, uint64_t bytes, uint32_t traffic_class, uint64_t delay_ps,
            uint64_t token);

/* Sets a timer for a time that is not before now. */
int bw_timer(bw_run run, uint64_t at_ps, uint64_t token);

/* The time of the run: that of the last step. */
int bw_now(bw_run run, uint64_t *now_ps);

/* Runs to the next instant at which something happens, at most to `until_ps`, and writes up to `capacity` events of it: messages in the
 * order of sending, then timers in the order of setting. If there are more of them, the next call returns them, and time does not pass.
 * `count` 0: now is `until_ps`; with BW_NEVER, nothing more will happen until a message is sent or a timer set.
 * BW_ERROR_ENDED: the run has ended. With a `capacity` of 0, an event is BW_ERROR_ARGUMENT, and the next call returns it. */
int bw_step(bw_run run, uint64_t until_ps, bw_event *events, size_t capacity, size_t *count);

/* The number of directions of links. They are numbered from 0, by node and port. */
int bw_links(bw_run run, uint32_t *links);

/* The totals of a direction of a link. */
int bw_link(bw_run run, uint32_t link, bw_link_counters *counters);

/* Writes the name of a node, and a zero behind it; a name that is too long for `capacity` octets is cut. */
int bw_node_name(bw_run run, uint32_t node, char *name, size_t capacity);

/* The totals of the run. */
int bw_count(bw_run run, bw_totals *totals);

/* Saves the run into a file, which replaces one of that name. All events of the last step must have been taken. */
int bw_save(bw_run run, const char *path);

/* Opens a run at the point at which it was saved, by the same library, with the same scenario and options. */
int bw_resume(const char *scenario, size_t length, const bw_options *options, const char *path, bw_run *run);

/* Ends a run: messages in flight do not arrive. The run is closed even if its directory cannot be written, which is an error. */
int bw_close(bw_run run);

#ifdef __cplusplus
}
#endif

#endif
