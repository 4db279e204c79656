// A run of Backwater, for programs that want to be called when something is over: messages, timers, and the loop.
//
// All times are integer picoseconds inside. Whoever counts nanoseconds reads them floored, by one division of integers; a delay in
// nanoseconds is exact, so that now in whole nanoseconds plus a delay is the time at which its timer is due, in whole nanoseconds.
//
// An error is kept, and ends the loop: the callers of these functions may catch exceptions that are not theirs.
#pragma once

#include <backwater.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace backwater {

using Handler = void (*)(void *);

constexpr uint64_t PS_PER_NS = 1000;

struct Choices {
    std::string scenario;  // path of a scenario
    std::string directory; // to be created for the run; empty: none
    bool sent = false;     // tell when a sender's interface has taken the last octet
};

// `Message`: what the program knows of a message.
template <class Message> class Network {
  public:
    explicit Network(const Choices &choices) {
        std::ifstream file(choices.scenario, std::ios::binary);
        std::ostringstream text;
        if (!file || !(text << file.rdbuf())) {
            fail(choices.scenario + ": it cannot be read");
            return;
        }
        const std::string written = text.str();
        const size_t slash = choices.scenario.find_last_of('/');
        const std::string base = slash == std::string::npos ? "." : choices.scenario.substr(0, slash + 1);
        bw_options options;
        check(bw_options_default(&options));
        options.name = choices.scenario.c_str();
        options.base = base.c_str();
        options.directory = choices.directory.empty() ? nullptr : choices.directory.c_str();
        options.flags |= choices.sent ? BW_TELL_SENT : 0u;
        if (check(bw_open(written.data(), written.size(), &options, &run_))) {
            check(bw_hosts(run_, &hosts_));
        }
    }

    Network(const Network &) = delete;
    Network &operator=(const Network &) = delete;

    ~Network() { close(); }

    uint32_t hosts() const { return hosts_; }

    // The first error, or nothing.
    const std::string &error() const { return error_; }

    void fail(const std::string &reason) {
        if (error_.empty()) {
            error_ = reason;
        }
    }

    uint64_t now_ps() const { return now_; }

    uint64_t now_ns() const { return now_ / PS_PER_NS; }

    // Calls a handler exactly `delay_ps` from now.
    void after(uint64_t delay_ps, Handler handler, void *argument) {
        const size_t at = place();
        places_[at].handler = handler;
        places_[at].argument = argument;
        check(bw_timer(run_, delay_ps > UINT64_MAX - 1 - now_ ? UINT64_MAX - 1 : now_ + delay_ps, at));
    }

    // Sends a message `delay_ps` from now. One without octets has one, and one to its own sender is delivered without the network.
    void send(uint32_t source, uint32_t destination, uint64_t bytes, uint64_t delay_ps, Message message) {
        const size_t at = place();
        places_[at].handler = nullptr;
        places_[at].message = std::move(message);
        if (source == destination) {
            own_++;
            check(bw_timer(run_, now_ + delay_ps, at));
            return;
        }
        empty_ += bytes == 0;
        messages_ += check(bw_send(run_, source, destination, bytes == 0 ? 1 : bytes, BW_CLASS_DEFAULT, delay_ps, at));
    }

    // Runs until `enough()`, until nothing more will happen, or until an error. `moment(kind, message)` learns of every moment of a message;
    // an own message has BW_SENT, BW_DELIVERED and BW_ACKNOWLEDGED at once. Then nobody is called any more, and the messages in flight come
    // to their end. Returns the time of the last call.
    template <class Moment, class Enough> uint64_t loop(Moment moment, Enough enough) {
        bw_event events[64];
        uint64_t end = now_;
        bool goes_on = !enough();
        while (error_.empty() && (goes_on || messages_ > 0)) {
            size_t count = 0;
            if (!check(bw_step(run_, BW_NEVER, events, sizeof events / sizeof *events, &count))) {
                break;
            }
            if (count == 0) {
                // Nothing will happen any more. If the scenario has ended the run (stop.at), the next step says so.
                check(bw_step(run_, BW_NEVER, events, 0, &count));
                break;
            }
            for (size_t i = 0; i < count && error_.empty(); i++) {
                now_ = events[i].at_ps;
                end = goes_on ? now_ : end;
                handle(events[i], goes_on, moment);
                goes_on = goes_on && !enough();
            }
        }
        return end;
    }

    bw_totals totals() {
        bw_totals totals = {};
        check(bw_count(run_, &totals));
        return totals;
    }

    // Messages to their own sender, and messages without octets.
    std::pair<uint64_t, uint64_t> odd() const { return {own_, empty_}; }

    void close() {
        if (run_ != 0) {
            check(bw_close(run_));
            run_ = 0;
        }
    }

  private:
    struct Place {
        Handler handler = nullptr;
        void *argument = nullptr;
        Message message = {};
    };

    bool check(int result) {
        if (result != BW_OK) {
            fail(bw_error());
        }
        return result == BW_OK;
    }

    size_t place() {
        if (free_.empty()) {
            places_.emplace_back();
            return places_.size() - 1;
        }
        const size_t at = free_.back();
        free_.pop_back();
        return at;
    }

    template <class Moment> void handle(const bw_event &event, bool calls, Moment &moment) {
        const auto at = static_cast<size_t>(event.token);
        // A copy, since a handler may send, which moves the places.
        const Place place = places_[at];
        const bool is_timer = event.kind == BW_TIMER;
        if (is_timer || event.kind == BW_ACKNOWLEDGED) {
            free_.push_back(at);
            messages_ -= !is_timer;
        }
        if (event.kind == BW_FAILED) {
            fail("a message has failed: its sender has given up (transport.retries)");
        } else if (calls && !is_timer) {
            moment(event.kind, place.message);
        } else if (calls && place.handler != nullptr) {
            place.handler(place.argument);
        } else if (calls) {
            for (const uint32_t kind : {BW_SENT, BW_DELIVERED, BW_ACKNOWLEDGED}) {
                moment(kind, place.message);
            }
        }
    }

    bw_run run_ = 0;
    uint32_t hosts_ = 0;
    uint64_t now_ = 0;
    uint64_t messages_ = 0;
    uint64_t own_ = 0;
    uint64_t empty_ = 0;
    std::vector<Place> places_;
    std::vector<size_t> free_;
    std::string error_;
};

} // namespace backwater
