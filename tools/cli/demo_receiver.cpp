#include "tools/cli/demo_receiver.hpp"

#include <arpa/inet.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <thread>

namespace holdfast::cli {
namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kBodyBytesMax = 256UL << 20;
constexpr int kBacklog = 1024;

// The server binds the port while the reserving socket still holds it, so that nobody else can take it in between.
bool share_port(int socket) {
    const int yes = 1;
    return ::setsockopt(socket, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) == 0;
}

}  // namespace

struct Receiver::State {
    int reserved = -1;  // bound and not listening: holds the port, refuses connections
    int port = 0;
    httplib::Server server;
    std::thread thread;
    std::mutex mutex;
    std::map<std::string, Entry> ledger;  // guarded by mutex
};

Receiver::Receiver(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Receiver>> Receiver::make_down() {
    auto state = std::make_unique<State>();
    state->reserved = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (state->reserved < 0) return io_error(errno, "cannot make a socket", "");
    if (!share_port(state->reserved)) return io_error(errno, "cannot share a port of", kLoopback);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(state->reserved, generic, bytes) != 0 || ::getsockname(state->reserved, generic, &bytes) != 0) {
        return io_error(errno, "cannot reserve a port on", kLoopback);
    }
    state->port = ntohs(address.sin_port);
    return std::make_unique<Receiver>(std::move(state));
}

Receiver::~Receiver() {
    go_down();
    if (state_->reserved >= 0) (void)::close(state_->reserved);  // nothing was ever sent on it
}

std::string Receiver::url() const {
    return std::string("http://") + kLoopback + ":" + std::to_string(state_->port) + "/webhooks";
}

Result<void> Receiver::come_up(std::size_t requests_at_once) {
    State& state = *state_;
    // A connection that is kept open holds its thread.
    state.server.new_task_queue = [requests_at_once]() -> httplib::TaskQueue* {
        return std::make_unique<httplib::ThreadPool>(requests_at_once + 1).release();
    };
    state.server.set_keep_alive_max_count(1'000'000'000);
    state.server.set_tcp_nodelay(true);
    state.server.set_payload_max_length(kBodyBytesMax);
    state.server.Post("/webhooks", [&state](const httplib::Request& request, httplib::Response& response) {
        const std::size_t hash = hash_of(request.body);
        const std::lock_guard lock(state.mutex);
        Entry& entry = state.ledger[request.get_header_value("Idempotency-Key")];
        entry.bodies_differ = entry.bodies_differ || (entry.times > 0 && entry.body_hash != hash);
        entry.body_hash = hash;
        ++entry.times;
        response.status = 204;
    });
    int listening = -1;
    state.server.set_socket_options([&listening](int socket) {
        listening = socket;
        (void)share_port(socket);  // if not, bind says so
    });
    if (!state.server.bind_to_port(kLoopback, state.port)) {
        return io_error(EADDRINUSE, "cannot listen on port " + std::to_string(state.port) + " of", kLoopback);
    }
    // httplib listens with a backlog of 5: a burst of connections would wait a second for its second try.
    (void)::listen(listening, kBacklog);  // if not, it is only slower
    state.thread = std::thread([&state] { (void)state.server.listen_after_bind(); });
    return {};
}

void Receiver::go_down() {
    if (!state_->thread.joinable()) return;
    while (!state_->server.is_running()) std::this_thread::yield();  // stop() before that would be forgotten
    state_->server.stop();
    state_->thread.join();
}

const std::map<std::string, Receiver::Entry>& Receiver::ledger() const noexcept { return state_->ledger; }

}  // namespace holdfast::cli
