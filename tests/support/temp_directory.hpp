// A directory on the real disk that goes away with the test.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace holdfast::testing {

class TempDirectory {
public:
    // Under TMPDIR, else /tmp.
    TempDirectory() : TempDirectory(std::filesystem::temp_directory_path()) {}
    explicit TempDirectory(const std::filesystem::path& parent) : path_((parent / "holdfast-test-XXXXXX").string()) {
        if (::mkdtemp(path_.data()) == nullptr) path_.clear();
    }
    ~TempDirectory() {
        std::error_code ignored;  // a test that made its directory unremovable has failed already
        if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
    }
    TempDirectory(const TempDirectory&) = delete;
    TempDirectory& operator=(const TempDirectory&) = delete;

    // Empty when it could not be made.
    const std::string& path() const noexcept { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

}  // namespace holdfast::testing
