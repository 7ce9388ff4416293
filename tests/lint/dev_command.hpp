// `tools/dev` as the tests of its commands run it.
#pragma once

#include <array>
#include <cstdio>
#include <string>

namespace holdfast::lint {

struct Ran {
    std::string output;  // stdout only
    bool succeeded;
};

inline Ran run_dev(const std::string& arguments) {
    const std::string command = "'" HOLDFAST_SOURCE_DIR "/tools/dev' " + arguments;
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {"cannot run " + command, false};
    std::string output;
    std::array<char, 4096> piece{};
    while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr) output += piece.data();
    return {output, pclose(pipe) == 0};
}

}  // namespace holdfast::lint
