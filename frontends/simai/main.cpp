// Runs a workload of SimAI on a network of Backwater.
//
// GPU i is host i of the scenario. SimAI's objects of NVLink switches exist, as its own frontends create them, but are no hosts: flows to or
// from them (AS_NVLS_ENABLE=1) are an error. A step of the run is the only place in which time passes, and calls what SimAI waits for.
//
//   sim_send       a message, --send-lat from now; its handler is called when the sender is done (--sender), with the flow's tag in its
//                  argument
//   sim_recv       its handler is called when its message has arrived (--receiver), with the flow's tag in its argument. The tag of the
//                  match is the one in the argument, and not that of the call. SimAI posts several receives for one message, and counts
//                  on its ns-3 frontend, which drops a receive while one waits for the same tag, source and destination
//   sim_schedule   a timer, exactly the delay from now
//   sim_get_time   the run's time in ns, floored

#include "../common/command.hpp"
#include "../common/matching.hpp"
#include "../common/network.hpp"

// SimAI's headers use names of std that they do not include.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <list>

#include <astra-sim/system/AstraNetworkAPI.hh>
#include <astra-sim/system/Common.hh>
#include <astra-sim/system/RecvPacketEventHadndlerData.hh>
#include <astra-sim/system/SendPacketEventHandlerData.hh>
#include <astra-sim/system/Sys.hh>
#if __has_include(<astra-sim/system/MockNcclLog.h>)
#include <astra-sim/system/MockNcclLog.h>
#else
#include <SimCCL/mock/MockNcclLog.h>
#endif

#include <cmath>
#include <memory>

namespace {

using AstraSim::RecvPacketEventHadndlerData;
using AstraSim::SendPacketEventHandlerData;
using backwater::Key;
using Tag = AstraSim::ncclFlowTag;

struct Call {
    backwater::Handler handler = nullptr;
    void *argument = nullptr;
};

struct Message {
    Key key = {};
    Tag tag;
    Call sender;
};

// What all ranks share.
struct Fabric {
    backwater::Network<Message> network;
    backwater::OneReceive<Call, Tag> matching;
    uint32_t sender_at;
    uint32_t receiver_at;
    uint64_t send_lat_ps;
    bool finished;

    // The receiver of a message learns of its flow by the argument, whose own tag is empty until then.
    void tell(const Call &receiver, const Tag &tag) {
        static_cast<RecvPacketEventHadndlerData *>(receiver.argument)->flowTag = tag;
        receiver.handler(receiver.argument);
    }

    void moment(uint32_t kind, const Message &message) {
        if (kind == sender_at) {
            static_cast<SendPacketEventHandlerData *>(message.sender.argument)->flowTag = message.tag;
            message.sender.handler(message.sender.argument);
        }
        if (kind == receiver_at) {
            if (const auto receiver = matching.arrive(message.key, message.tag)) {
                tell(*receiver, message.tag);
            }
        }
    }
};

class Rank : public AstraSim::AstraNetworkAPI {
  public:
    Rank(int rank, Fabric &fabric) : AstraNetworkAPI(rank), fabric_(fabric) {}

    // Sizes are not part of a key: a receive may name another size than its message.
    int sim_send(void *, uint64_t bytes, int, int destination, int tag, AstraSim::sim_request *request, backwater::Handler handler,
                 void *argument) override {
        const Key key{tag, static_cast<uint32_t>(rank), static_cast<uint32_t>(destination), 0};
        if (key.source >= fabric_.network.hosts() || key.destination >= fabric_.network.hosts()) {
            fabric_.network.fail("rank " + std::to_string(rank) + " sends to rank " + std::to_string(destination) +
                                 ", and one of them is an NVLink switch, which is no host here\nhint: leave AS_NVLS_ENABLE out");
            return -1;
        }
        Message message{key, request->flowTag, {handler, argument}};
        fabric_.network.send(key.source, key.destination, bytes, fabric_.send_lat_ps, std::move(message));
        return 0;
    }

    int sim_recv(void *, uint64_t, int, int source, int, AstraSim::sim_request *, backwater::Handler handler, void *argument) override {
        const int tag = static_cast<RecvPacketEventHadndlerData *>(argument)->flowTag.tag_id;
        const Key key{tag, static_cast<uint32_t>(source), static_cast<uint32_t>(rank), 0};
        if (const auto arrived = fabric_.matching.receive(key, {handler, argument})) {
            // At once, as their frontends do: SimAI counts on it.
            fabric_.tell({handler, argument}, *arrived);
        }
        return 0;
    }

    void sim_schedule(AstraSim::timespec_t delta, backwater::Handler handler, void *argument) override {
        // The unit is left unset there, and is ns.
        if (!(delta.time_val >= 0)) {
            return fabric_.network.fail("SimAI has scheduled something before now");
        }
        const double ns = std::floor(delta.time_val);
        fabric_.network.after(ns < 0x1p53 ? static_cast<uint64_t>(ns) * backwater::PS_PER_NS : UINT64_MAX, handler, argument);
    }

    AstraSim::timespec_t sim_get_time() override {
        return {AstraSim::NS, static_cast<double>(fabric_.network.now_ns())};
    }

    int sim_comm_size(AstraSim::sim_comm, int *) override { return 0; }

    int sim_finish() override {
        fabric_.finished = true;
        return 0;
    }

    double sim_time_resolution() override { return 0; }

    int sim_init(AstraSim::AstraMemoryAPI *) override { return 0; }

  private:
    Fabric &fabric_;
};

// The first line of a topology: nodes, GPUs of a server, NVLink switches, switches, links, GPU.
struct Topology {
    int nodes = 0, of_server = 0, nvswitches = 0, switches = 0, links = 0;
    std::string gpu;
};

Topology topology_of(const std::string &path) {
    Topology of;
    std::ifstream file(path);
    if (!(file >> of.nodes >> of.of_server >> of.nvswitches >> of.switches >> of.links >> of.gpu) || of.of_server < 1 ||
        of.nodes <= of.nvswitches + of.switches) {
        backwater::stop(path + ": the first line of a topology has five numbers and the name of a GPU");
    }
    return of;
}

GPUType gpu_of(const std::string &name) {
    const std::map<std::string, GPUType> known = {
        {"A100", GPUType::A100}, {"A800", GPUType::A800}, {"H100", GPUType::H100}, {"H800", GPUType::H800}, {"H20", GPUType::H20}};
    return known.count(name) ? known.at(name) : GPUType::NONE;
}

} // namespace

int main(int count, char **words) {
    const char *of_environment = std::getenv("AS_SEND_LAT");
    const backwater::Options options(count, words,
                                     {{"workload", ""},
                                      {"topology", ""},
                                      {"network", ""},
                                      {"results", "./ncclFlowModel_"},
                                      {"send-lat", of_environment == nullptr ? "6" : of_environment},
                                      {"sender", "sent"},
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
    backwater::check_results(options.text("backwater"), options.text("directory"));
    const double send_lat = options.number("send-lat");
    if (!(send_lat >= 0 && send_lat < 1e9)) {
        backwater::stop("--send-lat: a number of us, not below 0");
    }
    const Topology topology = topology_of(options.given("topology"));
    const int gpus = topology.nodes - topology.nvswitches - topology.switches;
    const backwater::Choices choices{options.given("network"), options.text("directory"), sender_at == BW_SENT};
    Fabric fabric{backwater::Network<Message>(choices), {}, sender_at, receiver_at, static_cast<uint64_t>(send_lat * 1e6), false};
    if (!fabric.network.error().empty()) {
        backwater::stop(fabric.network.error());
    }
    if (fabric.network.hosts() != static_cast<uint32_t>(gpus)) {
        backwater::stop("the topology has " + std::to_string(gpus) + " GPUs, and the scenario has " +
                        std::to_string(fabric.network.hosts()) + " hosts\nhint: import the topology with backwater import");
    }

    MockNcclLog::set_log_name("SimAI.log");
    const int ranks = gpus + topology.nvswitches;
    std::vector<int> switches;
    for (int at = gpus; at < ranks; at++) {
        switches.push_back(at);
    }
    std::vector<std::unique_ptr<Rank>> networks;
    std::vector<AstraSim::Sys *> systems;
    for (int rank = 0; rank < ranks; rank++) {
        networks.push_back(std::make_unique<Rank>(rank, fabric));
        systems.push_back(new AstraSim::Sys(networks.back().get(), nullptr, rank, 0, 1, {ranks}, {1}, "", options.given("workload"), 1, 1,
                                            1, 1, 0, options.text("results"), "backwater", true, false, gpu_of(topology.gpu), {gpus},
                                            switches, topology.of_server));
        systems.back()->nvswitch_id = rank < gpus ? gpus + rank / topology.of_server : rank;
        systems.back()->num_gpus = gpus;
    }
    for (AstraSim::Sys *system : systems) {
        system->workload->fire();
    }
    const uint64_t end = fabric.network.loop([&](uint32_t kind, const Message &message) { fabric.moment(kind, message); }, [&] { return fabric.finished; });

    const bw_totals totals = fabric.network.totals();
    const auto [own, empty] = fabric.network.odd();
    const auto [receives, arrived] = fabric.matching.open();
    fabric.network.close();
    if (!fabric.finished) {
        fabric.network.fail("the workload has not finished: " + std::to_string(receives) + " receives wait for a message, " +
                            std::to_string(arrived) + " messages wait for a receive");
    }
    if (receives > 0 || arrived > 0) {
        fabric.network.fail("the workload has finished, but " + std::to_string(receives) + " receives wait for a message, and " +
                            std::to_string(arrived) + " messages wait for a receive: a part of it was not simulated");
    }
    if (!fabric.network.error().empty()) {
        backwater::stop(fabric.network.error());
    }
    std::printf("backwater: %llu messages, %llu hops, %llu drops, %llu to their own rank, %llu without octets, %zu receives dropped, "
                "end at %llu ps, fingerprint %016llx\n",
                static_cast<unsigned long long>(totals.messages), static_cast<unsigned long long>(totals.hops),
                static_cast<unsigned long long>(totals.drops), static_cast<unsigned long long>(own),
                static_cast<unsigned long long>(empty), fabric.matching.dropped(), static_cast<unsigned long long>(end),
                static_cast<unsigned long long>(totals.fingerprint));
    if (!options.text("backwater").empty() && !backwater::results(options.text("backwater"), options.given("directory"))) {
        backwater::stop("the run has ended, but its results could not be written");
    }
    return 0;
}
