// Joins sends and receives of a message-passing program by their keys.
//
//   posted first    a receive waits until its message arrives
//   arrived first   what came with the message waits until the receive is posted
//
// There are two rules, one for each program:
//
//   Matching     The n-th send of a key belongs to the n-th receive of it. Two messages of one key may arrive in the other order, on two
//                paths: each is for the receive with its own ordinal.
//   OneReceive   At most one receive of a key waits. A later one is dropped while it waits: the program posts several for one message,
//                and frees what they point at when this message has arrived. Messages are received in the order of their arrival.
//
// Nothing is kept of a key when all its messages have been received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace backwater {

// What a send and its receive have in common. Sizes are octets.
struct Key {
    int64_t tag;
    uint32_t source;
    uint32_t destination;
    uint64_t bytes;

    bool operator<(const Key &other) const {
        return std::tie(tag, source, destination, bytes) < std::tie(other.tag, other.source, other.destination, other.bytes);
    }
};

// `Receiver`: whom a receive tells. `Arrival`: what comes with a message.
template <class Receiver, class Arrival> class Matching {
  public:
    // A message is sent. Returns its ordinal among those of its key.
    uint64_t send(const Key &key) { return keys_[key].sent++; }

    // A receive is posted. Returns what came with its message, if that is here: then nothing waits.
    std::optional<Arrival> receive(const Key &key, Receiver receiver) {
        const auto of = keys_.try_emplace(key).first;
        const uint64_t ordinal = of->second.posted++;
        const auto here = of->second.arrived.find(ordinal);
        if (here == of->second.arrived.end()) {
            of->second.waiting.emplace(ordinal, std::move(receiver));
            return std::nullopt;
        }
        std::optional<Arrival> arrival(std::move(here->second));
        of->second.arrived.erase(here);
        forget(of);
        return arrival;
    }

    // A message that was sent has arrived. Returns its receiver, if the receive has been posted: then nothing waits.
    std::optional<Receiver> arrive(const Key &key, uint64_t ordinal, Arrival arrival) {
        const auto of = keys_.try_emplace(key).first;
        const auto there = of->second.waiting.find(ordinal);
        if (there == of->second.waiting.end()) {
            of->second.arrived.emplace(ordinal, std::move(arrival));
            return std::nullopt;
        }
        std::optional<Receiver> receiver(std::move(there->second));
        of->second.waiting.erase(there);
        forget(of);
        return receiver;
    }

    // Receives that wait for their messages, and messages that wait for their receives.
    std::pair<size_t, size_t> open() const {
        std::pair<size_t, size_t> all(0, 0);
        for (const auto &[key, of] : keys_) {
            all.first += of.waiting.size();
            all.second += of.arrived.size();
        }
        return all;
    }

    // Keys of which something is kept.
    size_t kept() const { return keys_.size(); }

  private:
    struct OfKey {
        uint64_t sent = 0;
        uint64_t posted = 0;
        std::map<uint64_t, Receiver> waiting;
        std::map<uint64_t, Arrival> arrived;
    };

    // As many sends as receives, and none of them open: the next ones may begin at ordinal 0 again.
    void forget(typename std::map<Key, OfKey>::iterator of) {
        if (of->second.sent == of->second.posted && of->second.waiting.empty() && of->second.arrived.empty()) {
            keys_.erase(of);
        }
    }

    std::map<Key, OfKey> keys_;
};

// As above, with at most one receive of a key that waits.
template <class Receiver, class Arrival> class OneReceive {
  public:
    // A receive is posted. Returns what came with the first message that waits for it. One that finds a receive waiting is dropped.
    std::optional<Arrival> receive(const Key &key, Receiver receiver) {
        const auto here = arrived_.find(key);
        if (here == arrived_.end()) {
            dropped_ += !waiting_.emplace(key, std::move(receiver)).second;
            return std::nullopt;
        }
        std::optional<Arrival> arrival(std::move(here->second.front()));
        here->second.pop_front();
        if (here->second.empty()) {
            arrived_.erase(here);
        }
        return arrival;
    }

    // A message has arrived. Returns the receiver that waits for it.
    std::optional<Receiver> arrive(const Key &key, Arrival arrival) {
        const auto there = waiting_.find(key);
        if (there == waiting_.end()) {
            arrived_[key].push_back(std::move(arrival));
            return std::nullopt;
        }
        std::optional<Receiver> receiver(std::move(there->second));
        waiting_.erase(there);
        return receiver;
    }

    // Receives that wait for their messages, and messages that wait for their receives.
    std::pair<size_t, size_t> open() const {
        std::pair<size_t, size_t> all(waiting_.size(), 0);
        for (const auto &[key, of] : arrived_) {
            all.second += of.size();
        }
        return all;
    }

    // Receives that were dropped.
    size_t dropped() const { return dropped_; }

  private:
    std::map<Key, Receiver> waiting_;
    std::map<Key, std::deque<Arrival>> arrived_;
    size_t dropped_ = 0;
};

} // namespace backwater
