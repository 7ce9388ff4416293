// The demo's receiver: an HTTP server on loopback that is down at first, and keeps its own ledger of what came in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <holdfast/result.hpp>

namespace holdfast::cli {

class Receiver {
public:
    // Reserves a port that nobody listens on: whoever connects is refused. Errors: io.
    static Result<std::unique_ptr<Receiver>> make_down();
    ~Receiver();

    std::string url() const;

    // Starts to listen on that port, with so many requests at a time. Errors: io.
    Result<void> come_up(std::size_t requests_at_once);
    void go_down();

    struct Entry {
        std::uint64_t times = 0;
        std::size_t body_hash = 0;
        bool bodies_differ = false;  // between deliveries of one id
    };
    // Of every id that ever arrived. After go_down.
    const std::map<std::string, Entry>& ledger() const noexcept;

    static std::size_t hash_of(const std::string& body) { return std::hash<std::string>{}(body); }

private:
    struct State;
    std::unique_ptr<State> state_;

public:
    explicit Receiver(std::unique_ptr<State> state);  // for make_down: nobody else can name a State
};

}  // namespace holdfast::cli
