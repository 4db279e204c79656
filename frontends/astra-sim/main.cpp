// Runs a workload of ASTRA-sim on a network of Backwater.
//
// ASTRA-sim has one network object for each rank. Here all of them share one run: rank i is host i of the scenario. A step of the run is
// the only place in which time passes, and calls what ASTRA-sim waits for.
//
//   sim_send       a message from now on; its handler is called when the sender is done (--sender)
//   sim_recv       its handler is called when its message has arrived (--receiver): the n-th receive of a key has the n-th message
//   sim_schedule   a timer, exactly the delay from now
//   sim_get_time   the run's time in ns, floored: ASTRA-sim looks up what is due by the nanosecond that it reads

#include "../common/command.hpp"
#include "../common/matching.hpp"
#include "../common/network.hpp"

#include <astra-sim/common/AstraNetworkAPI.hh>
#include <astra-sim/common/Logging.hh>
#include <astra-sim/system/Sys.hh>
#include <extern/remote_memory_backend/analytical/AnalyticalRemoteMemory.hh>

#include <cmath>
#include <memory>

namespace {

using backwater::Key;

struct Call {
    backwater::Handler handler = nullptr;
    void *argument = nullptr;
};

struct Message {
    Key key = {};
    uint64_t ordinal = 0;
    Call sender;
};

// That the message is here is all that a receiver of ASTRA-sim learns.
struct Nothing {};

// What all ranks share.
struct Fabric {
    backwater::Network<Message> network;
    backwater::Matching<Call, Nothing> matching;
    uint32_t sender_at;
    uint32_t receiver_at;
    std::vector<double> bandwidths;
    std::vector<bool> finished;
    size_t running;

    void moment(uint32_t kind, const Message &message) {
        // The order of ASTRA-sim's analytical frontend, where one moment is both.
        if (kind == sender_at) {
            message.sender.handler(message.sender.argument);
        }
        if (kind == receiver_at) {
            if (const auto receiver = matching.arrive(message.key, message.ordinal, Nothing{})) {
                receiver->handler(receiver->argument);
            }
        }
    }
};

class Rank : public AstraSim::AstraNetworkAPI {
  public:
    Rank(int rank, Fabric &fabric) : AstraNetworkAPI(rank), fabric_(fabric) {}

    int sim_send(void *, uint64_t bytes, int, int destination, int tag, AstraSim::sim_request *, backwater::Handler handler,
                 void *argument) override {
        const Key key{tag, static_cast<uint32_t>(rank), static_cast<uint32_t>(destination), bytes};
        fabric_.network.send(key.source, key.destination, bytes, 0, Message{key, fabric_.matching.send(key), {handler, argument}});
        return 0;
    }

    int sim_recv(void *, uint64_t bytes, int, int source, int tag, AstraSim::sim_request *, backwater::Handler handler,
                 void *argument) override {
        const Key key{tag, static_cast<uint32_t>(source), static_cast<uint32_t>(rank), bytes};
        if (fabric_.matching.receive(key, {handler, argument})) {
            // Not at once: the caller is not ready to be called.
            fabric_.network.after(0, handler, argument);
        }
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, backwater::Handler handler, void *argument) override {
        if (delta.time_res != AstraSim::NS || !(delta.time_val >= 0)) {
            return fabric_.network.fail("ASTRA-sim has scheduled something in another unit than ns, or before now");
        }
        const long double ps = std::floor(delta.time_val * backwater::PS_PER_NS);
        fabric_.network.after(ps < 0x1p64L ? static_cast<uint64_t>(ps) : UINT64_MAX, handler, argument);
    }

    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<long double>(fabric_.network.now_ns())};
    }

    double get_BW_at_dimension(int dimension) override {
        const auto at = static_cast<size_t>(dimension);
        return at < fabric_.bandwidths.size() ? fabric_.bandwidths[at] : -1;
    }

    void sim_notify_finished() override {
        const auto at = static_cast<size_t>(rank);
        fabric_.running -= !fabric_.finished[at];
        fabric_.finished[at] = true;
    }

  private:
    Fabric &fabric_;
};

} // namespace

int main(int count, char **words) {
    const backwater::Options options(count, words,
                                     {{"workload-configuration", ""},
                                      {"system-configuration", ""},
                                      {"remote-memory-configuration", ""},
                                      {"comm-group-configuration", "empty"},
                                      {"logging-configuration", "empty"},
                                      {"logging-folder", "log"},
                                      {"num-queues-per-dim", "1"},
                                      {"injection-scale", "1"},
                                      {"comm-scale", "1"},
                                      {"compute-scale", "1"},
                                      {"rendezvous-protocol", "false"},
                                      {"network-configuration", ""},
                                      {"logical-dims", ""},
                                      {"dimension-bandwidths", ""},
                                      {"sender", "acknowledged"},
                                      {"receiver", "delivered"},
                                      {"directory", ""},
                                      {"backwater", ""}});
    // In the order of BW_SENT, BW_DELIVERED, BW_ACKNOWLEDGED.
    const std::vector<std::string> moments = {"sent", "delivered", "acknowledged"};
    const auto sender_at = static_cast<uint32_t>(options.one_of("sender", moments));
    const auto receiver_at = static_cast<uint32_t>(options.one_of("receiver", moments));
    if (receiver_at == BW_SENT) {
        backwater::stop("--receiver: a receiver has nothing when the sender has sent");
    }
    const backwater::Choices choices{options.given("network-configuration"), options.text("directory"), sender_at == BW_SENT};

    backwater::check_results(options.text("backwater"), options.text("directory"));
    std::vector<int> dims = options.counts("logical-dims");
    size_t ranks = 1;
    for (const int size : dims) {
        ranks *= static_cast<size_t>(size);
    }
    const int queues_per_dim = options.count("num-queues-per-dim");
    const double injection_scale = options.number("injection-scale"), comm_scale = options.number("comm-scale");
    // ASTRA-sim's own frontends take it, and use it for nothing.
    options.number("compute-scale");
    const bool rendezvous = options.flag("rendezvous-protocol");
    Fabric fabric{backwater::Network<Message>(choices), {}, sender_at, receiver_at, options.list("dimension-bandwidths"), {}, 0};
    if (!fabric.network.error().empty()) {
        backwater::stop(fabric.network.error());
    }
    if (dims.empty()) {
        ranks = fabric.network.hosts();
        dims.push_back(static_cast<int>(ranks));
    }
    if (ranks > fabric.network.hosts()) {
        backwater::stop(std::to_string(ranks) + " ranks need as many hosts, and the scenario has " +
                        std::to_string(fabric.network.hosts()));
    }
    fabric.finished.assign(ranks, false);
    fabric.running = ranks;

    AstraSim::LoggerFactory::init(options.text("logging-configuration"), options.text("logging-folder"));
    const auto memory = std::make_unique<Analytical::AnalyticalRemoteMemory>(options.given("remote-memory-configuration"));
    const std::vector<int> queues(dims.size(), queues_per_dim);
    std::vector<std::unique_ptr<Rank>> networks;
    std::vector<AstraSim::Sys *> systems;
    for (int rank = 0; rank < static_cast<int>(ranks); rank++) {
        networks.push_back(std::make_unique<Rank>(rank, fabric));
        systems.push_back(new AstraSim::Sys(rank, options.given("workload-configuration"), options.text("comm-group-configuration"),
                                            options.given("system-configuration"), memory.get(), networks.back().get(), dims, queues,
                                            injection_scale, comm_scale, rendezvous));
    }
    for (AstraSim::Sys *system : systems) {
        system->workload->fire();
    }
    const uint64_t end = fabric.network.loop([&](uint32_t kind, const Message &message) { fabric.moment(kind, message); },
                        [&] { return fabric.running == 0; });

    const bw_totals totals = fabric.network.totals();
    const auto [own, empty] = fabric.network.odd();
    const auto [receives, messages] = fabric.matching.open();
    fabric.network.close();
    if (fabric.network.error().empty() && fabric.running > 0) {
        fabric.network.fail(std::to_string(fabric.running) + " of " + std::to_string(ranks) + " ranks have not finished: " +
                            std::to_string(receives) + " receives wait for a message, " + std::to_string(messages) +
                            " messages wait for a receive");
    }
    if (fabric.network.error().empty()) {
        for (AstraSim::Sys *system : systems) {
            delete system;
        }
    }
    AstraSim::LoggerFactory::shutdown();
    if (!fabric.network.error().empty()) {
        backwater::stop(fabric.network.error());
    }
    std::printf("backwater: %llu messages, %llu hops, %llu drops, %llu to their own rank, %llu without octets, end at %llu ps, "
                "fingerprint %016llx\n",
                static_cast<unsigned long long>(totals.messages), static_cast<unsigned long long>(totals.hops),
                static_cast<unsigned long long>(totals.drops), static_cast<unsigned long long>(own),
                static_cast<unsigned long long>(empty), static_cast<unsigned long long>(end),
                static_cast<unsigned long long>(totals.fingerprint));
    if (!options.text("backwater").empty() && !backwater::results(options.text("backwater"), options.given("directory"))) {
        backwater::stop("the run has ended, but its results could not be written");
    }
    return 0;
}
