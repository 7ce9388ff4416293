// A directory of our own for a drill or a demo.
#pragma once

#include <string>

#include <holdfast/result.hpp>

namespace holdfast::cli {

class ScratchDirectory {
public:
    // Makes a fresh directory under `parent` (made when absent; the system's temporary directory when empty).
    // Errors: conflict (`parent` is a store), io.
    static Result<ScratchDirectory> make(const std::string& parent, const std::string& name);
    ScratchDirectory(ScratchDirectory&& other) noexcept;
    ScratchDirectory& operator=(ScratchDirectory&&) = delete;
    ~ScratchDirectory();  // removes it and everything in it, unless kept

    const std::string& path() const noexcept { return path_; }
    void keep() noexcept { kept_ = true; }

private:
    ScratchDirectory(std::string path, std::string made_parent)
        : path_(std::move(path)), made_parent_(std::move(made_parent)) {}
    std::string path_;
    std::string made_parent_;  // removed too when it is empty, since it was not there before
    bool kept_ = false;
};

}  // namespace holdfast::cli
