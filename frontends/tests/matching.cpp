// Tests the matching of sends and receives. It needs no network, and no fetched program.

#include "../common/matching.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <vector>

#define CHECK(condition)                                                                                                                   \
    do {                                                                                                                                   \
        if (!(condition)) {                                                                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                           \
            std::exit(1);                                                                                                                  \
        }                                                                                                                                  \
    } while (false)

using backwater::Key;
using Matching = backwater::Matching<int, int>;

static void a_receive_waits_for_its_message() {
    Matching matching;
    const Key key{7, 0, 1, 100};
    CHECK(!matching.receive(key, 50));
    const uint64_t ordinal = matching.send(key);
    CHECK(matching.open() == std::make_pair(size_t{1}, size_t{0}));
    CHECK(matching.arrive(key, ordinal, 60) == 50);
    CHECK(matching.open() == std::make_pair(size_t{0}, size_t{0}) && matching.kept() == 0);
}

static void a_message_waits_for_its_receive() {
    Matching matching;
    const Key key{7, 0, 1, 100};
    CHECK(!matching.arrive(key, matching.send(key), 60));
    CHECK(matching.open() == std::make_pair(size_t{0}, size_t{1}));
    CHECK(matching.receive(key, 50) == 60);
    CHECK(matching.kept() == 0);
}

// The second message overtakes the first: each is for its own receive.
static void ordinals_count_and_not_the_order_of_arrival() {
    Matching matching;
    const Key key{7, 0, 1, 100};
    CHECK(matching.send(key) == 0 && matching.send(key) == 1);
    CHECK(!matching.receive(key, 50));
    CHECK(!matching.arrive(key, 1, 61));
    CHECK(matching.arrive(key, 0, 60) == 50);
    CHECK(matching.receive(key, 51) == 61);
    CHECK(matching.kept() == 0);
}

static void keys_do_not_mix() {
    Matching matching;
    const Key keys[] = {{7, 0, 1, 100}, {8, 0, 1, 100}, {7, 2, 1, 100}, {7, 0, 3, 100}, {7, 0, 1, 101}, {7, 0, 1, uint64_t{1} << 40}};
    for (int at = 0; at < 6; at++) {
        CHECK(!matching.receive(keys[at], at));
    }
    for (int at = 5; at >= 0; at--) {
        CHECK(matching.arrive(keys[at], matching.send(keys[at]), 0) == at);
    }
    CHECK(matching.kept() == 0);
}

// Sends, receives and arrivals in random order, against a list of all that was sent and received.
static void in_random_order_the_nth_is_for_the_nth() {
    for (unsigned seed = 0; seed < 200; seed++) {
        std::mt19937 dice(seed);
        Matching matching;
        std::map<Key, std::vector<int>> receives, sends, told;
        std::vector<std::tuple<Key, uint64_t, int>> flying;
        const auto key = [&] { return Key{static_cast<int64_t>(dice() % 2), static_cast<uint32_t>(dice() % 2), 2, 100 + dice() % 2}; };
        std::map<Key, int> balance;
        int made = 0;
        const auto tell = [&](const Key &of, int receiver, int message) {
            const auto &all = receives[of];
            const auto at = static_cast<size_t>(std::find(all.begin(), all.end(), receiver) - all.begin());
            CHECK(at < all.size() && at < sends[of].size() && sends[of][at] == message);
            told[of].push_back(message);
        };
        const auto post = [&](const Key &of) {
            receives[of].push_back(made);
            if (const auto message = matching.receive(of, made)) {
                tell(of, made, *message);
            }
            made++;
        };
        const auto send = [&](const Key &of) {
            sends[of].push_back(made);
            flying.emplace_back(of, matching.send(of), made++);
        };
        const auto land = [&] {
            std::swap(flying[dice() % flying.size()], flying.back());
            const auto [of, ordinal, message] = flying.back();
            flying.pop_back();
            if (const auto receiver = matching.arrive(of, ordinal, message)) {
                tell(of, *receiver, message);
            }
        };
        for (int turn = 0; turn < 300; turn++) {
            const Key of = key();
            switch (dice() % 3) {
            case 0:
                post(of);
                balance[of]--;
                break;
            case 1:
                send(of);
                balance[of]++;
                break;
            default:
                if (!flying.empty()) {
                    land();
                }
            }
        }
        for (auto &[of, more] : balance) {
            for (; more > 0; more--) {
                post(of);
            }
            for (; more < 0; more++) {
                send(of);
            }
        }
        while (!flying.empty()) {
            land();
        }
        for (const auto &[of, all] : sends) {
            CHECK(told[of].size() == all.size() && receives[of].size() == all.size());
        }
        CHECK(matching.kept() == 0);
    }
}

using OneReceive = backwater::OneReceive<int, int>;

// A collective of 8 posts 7 receives for one message. The next collective has the same key, and its own receives.
static void one_receive_waits_and_later_ones_are_dropped() {
    OneReceive matching;
    const Key key{7, 0, 1, 0};
    for (int collective = 0; collective < 3; collective++) {
        for (int at = 0; at < 7; at++) {
            CHECK(!matching.receive(key, 10 * collective + at));
        }
        CHECK(matching.open() == std::make_pair(size_t{1}, size_t{0}));
        CHECK(matching.arrive(key, 60) == 10 * collective);
        CHECK(matching.open() == std::make_pair(size_t{0}, size_t{0}) && matching.dropped() == 6u * (collective + 1u));
    }
}

static void messages_without_a_receive_wait_in_their_order() {
    OneReceive matching;
    const Key key{7, 0, 1, 0}, other{8, 0, 1, 0};
    CHECK(!matching.arrive(key, 60) && !matching.arrive(key, 61) && !matching.arrive(other, 62));
    CHECK(matching.open() == std::make_pair(size_t{0}, size_t{3}));
    CHECK(matching.receive(key, 50) == 60 && matching.receive(other, 51) == 62 && matching.receive(key, 52) == 61);
    CHECK(!matching.receive(key, 53) && matching.open() == std::make_pair(size_t{1}, size_t{0}) && matching.dropped() == 0);
}

// Each message has one to ten receives, all of which are freed when it has arrived, as the program does: whoever a receive notifies must still exist.
static void no_receiver_is_told_that_is_gone() {
    for (unsigned seed = 0; seed < 200; seed++) {
        std::mt19937 dice(seed);
        backwater::OneReceive<int *, int> matching;
        std::map<Key, std::vector<std::unique_ptr<int>>> alive;
        size_t posted = 0, messages = 0;
        int batch = 0;
        for (int turn = 0; turn < 300; turn++) {
            const Key key{static_cast<int64_t>(dice() % 3), static_cast<uint32_t>(dice() % 2), 2, 0};
            auto &of = alive[key];
            batch += of.empty();
            for (auto more = of.empty() ? 1 + dice() % 10 : 0; more > 0; more--, posted++) {
                of.push_back(std::make_unique<int>(batch));
                CHECK(!matching.receive(key, of.back().get()));
            }
            if (dice() % 2) {
                const int expected = *of.front();
                const auto receiver = matching.arrive(key, 0);
                CHECK(receiver && **receiver == expected);
                of.clear();
                messages++;
            }
        }
        CHECK(posted == messages + matching.open().first + matching.dropped() && matching.open().second == 0);
    }
}

int main() {
    one_receive_waits_and_later_ones_are_dropped();
    messages_without_a_receive_wait_in_their_order();
    no_receiver_is_told_that_is_gone();
    a_receive_waits_for_its_message();
    a_message_waits_for_its_receive();
    ordinals_count_and_not_the_order_of_arrival();
    keys_do_not_mix();
    in_random_order_the_nth_is_for_the_nth();
    return 0;
}
