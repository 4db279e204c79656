// Tests the loop on a run of Backwater: moments, timers, odd messages, and errors. Its argument is a directory to write into.
//
// Frames of 1000 B without headers take 80 ns at 100 Gb/s, links 500 ns; the switch stores and forwards.

#include "../common/network.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                           \
            std::exit(1);                                                                                                                  \
        }                                                                                                                                  \
    } while (false)

using Network = backwater::Network<int>;

struct Told {
    uint64_t at;
    uint32_t kind;
    int message;

    bool operator==(const Told &other) const { return at == other.at && kind == other.kind && message == other.message; }
};

static std::string star(const std::string &directory, const std::string &more) {
    const std::string path = directory + "/star.toml";
    std::ofstream(path) << "[topology]\nkind = \"star\"\nhosts = 3\nrate = \"100 Gb/s\"\nlink_delay = \"500 ns\"\n"
                           "[switch]\nlatency = \"0 ns\"\nbuffer_per = \"none\"\n"
                           "[packet]\npayload = \"1000 B\"\nheader = \"0 B\"\ngap = \"0 B\"\n[ack]\nsize = \"100 B\"\n"
                        << more;
    return path;
}

static void moments_are_told_in_their_order(const std::string &scenario) {
    Network network({scenario, "", true});
    CHECK(network.hosts() == 3);
    network.send(0, 1, 2000, 250'000, 7);
    std::vector<Told> told;
    const uint64_t end = network.loop([&](uint32_t kind, int message) { told.push_back({network.now_ps(), kind, message}); },
                                      [&] { return told.size() == 3; });
    // The interface takes the second packet when the first has left. Two links, three times a packet; the acknowledgement has 100 B.
    const uint64_t sent = 250'000 + 80'000, here = 250'000 + 3 * 80'000 + 1'000'000, back = here + 1'000'000 + 2 * 8'000;
    CHECK((told == std::vector<Told>{{sent, BW_SENT, 7}, {here, BW_DELIVERED, 7}, {back, BW_ACKNOWLEDGED, 7}}));
    CHECK(end == back && network.error().empty());
}

static std::vector<uint64_t> due;
static Network *of_timers;

static void timer(void *argument) {
    due.push_back(of_timers->now_ps());
    if (argument != nullptr) {
        of_timers->after(0, timer, nullptr);
    }
}

static void timers_are_exact_and_time_is_floored(const std::string &scenario) {
    Network network({scenario, "", false});
    of_timers = &network;
    int again = 0;
    network.after(12'999, timer, nullptr);
    network.after(12'001, timer, &again);
    network.loop([](uint32_t, int) {}, [] { return due.size() == 3; });
    CHECK((due == std::vector<uint64_t>{12'001, 12'001, 12'999}));
    CHECK(network.now_ns() == 12);
}

static void odd_messages_are_delivered(const std::string &scenario) {
    Network network({scenario, "", true});
    std::vector<Told> told;
    network.send(1, 1, 5000, 3'000, 1);
    network.send(0, 1, 0, 0, 2);
    network.loop([&](uint32_t kind, int message) { told.push_back({network.now_ps(), kind, message}); },
                 [&] { return told.size() == 6; });
    CHECK((told[0] == Told{0, BW_SENT, 2} && told[1] == Told{3'000, BW_SENT, 1} && told[2] == Told{3'000, BW_DELIVERED, 1}));
    // One octet takes 80 ps.
    CHECK((told[3] == Told{3'000, BW_ACKNOWLEDGED, 1} && told[4] == Told{1'000'160, BW_DELIVERED, 2}));
    CHECK(network.odd() == std::make_pair(uint64_t{1}, uint64_t{1}));
}

// The messages in flight come to their end, though nobody is called any more: the run with these messages alone is the same.
static void the_end_waits_for_messages(const std::string &scenario, const std::string &directory) {
    Network network({scenario, directory + "/run", false});
    int calls = 0;
    network.send(0, 1, 1000, 0, 1);
    network.send(0, 2, 100'000, 0, 2);
    const uint64_t end = network.loop([&](uint32_t, int) { calls++; }, [&] { return calls == 1; });
    CHECK(end < 2'000'000 && network.now_ps() > 9'000'000);
    const bw_totals totals = network.totals();
    CHECK(totals.messages == 2 && totals.ended == 2 && calls == 1);
    network.close();
    CHECK(network.error().empty() && std::ifstream(directory + "/run/messages.csv").good());
}

static void errors_end_the_loop(const std::string &scenario, const std::string &directory) {
    Network missing({directory + "/none.toml", "", false});
    CHECK(missing.error().find("none.toml") != std::string::npos);
    Network wrong({star(directory, "[nonsense]\n"), "", false});
    CHECK(!wrong.error().empty() && wrong.hosts() == 0);
    star(directory, "");
    Network network({scenario, "", false});
    network.send(0, 9, 1000, 0, 1);
    CHECK(network.error().find("there is no host 9") != std::string::npos);
    CHECK(network.loop([](uint32_t, int) {}, [] { return false; }) == 0);
    // Nothing will happen any more: the loop ends, though it was not enough.
    Network idle({scenario, "", false});
    CHECK(idle.loop([](uint32_t, int) {}, [] { return false; }) == 0 && idle.error().empty());
}

// The scenario's own end is an error that names it, before and after the end of the program.
static void a_scenario_that_stops_is_an_error(const std::string &directory) {
    const std::string scenario = star(directory, "[stop]\nat = \"2 us\"\n");
    for (const bool enough : {false, true}) {
        Network network({scenario, "", false});
        network.send(0, 1, 1000, 0, 1);
        network.send(0, 2, 1'000'000, 0, 2);
        int calls = 0;
        network.loop([&](uint32_t, int) { calls++; }, [&] { return enough && calls == 1; });
        CHECK(network.error().find("ended at 2 us") != std::string::npos && network.error().find("stop.at") != std::string::npos);
    }
    star(directory, "");
}

int main(int, char **words) {
    const std::string directory = words[1], scenario = star(directory, "");
    moments_are_told_in_their_order(scenario);
    timers_are_exact_and_time_is_floored(scenario);
    odd_messages_are_delivered(scenario);
    the_end_waits_for_messages(scenario, directory);
    errors_end_the_loop(scenario, directory);
    a_scenario_that_stops_is_an_error(directory);
    return 0;
}
