// inspect: decodes one of the store's files, whatever state it is in.
#include <algorithm>
#include <filesystem>

#include "tools/cli/inspect_file.hpp"
#include "tools/cli/output.hpp"
#include "tools/cli/verb.hpp"

namespace holdfast::cli {
namespace {

enum class FileSort : std::uint8_t { segment, ring, index, unknown };

// By its first bytes; by its name where those are gone.
FileSort sort_of(InspectedFile& file) {
    const ByteView head = file.view(0, 24);
    const std::string_view begin = as_text(head.first(std::min<std::size_t>(head.size(), 5)));
    if (begin == "HFSEG" || begin == "HFSPL") return FileSort::segment;
    if (begin == "HFRNG") return FileSort::ring;
    if (head.size() >= 20 && load_le<std::uint32_t>(head, 16) == 0xBEEFC0DE) return FileSort::index;
    const std::filesystem::path path(file.path());
    if (path.extension() == ".seg" || path.extension() == ".spill") return FileSort::segment;
    if (path.extension() == ".ring") return FileSort::ring;
    if (path.filename() == "data.mdb") return FileSort::index;
    return FileSort::unknown;
}

Inspection inspect_as(FileSort sort, InspectedFile& file) {
    switch (sort) {
        case FileSort::segment:
            return inspect_segment(file);
        case FileSort::ring:
            return inspect_ring(file);
        case FileSort::index:
            return inspect_index(file);
        case FileSort::unknown:
            break;
    }
    return {};
}

class InspectVerb final : public Verb {
public:
    CLI::App* declare(CLI::App& root) override {
        CLI::App* const app =
            root.add_subcommand("inspect", "Decode a segment, ring, spill file or index, damaged ones too");
        app->add_option("FILE", path_, "The file; for an index its directory will do")->required();
        app->footer(
            "Prints JSON lines: one for the file, then one for each frame, slot or row, as many as can be decoded.\n"
            "Exit 6 when what is whole stands behind something that is not.\n"
            "\n"
            "Examples:\n"
            "  holdfast inspect /var/lib/holdfast/wal/0000000000000001.seg | jq 'select(.kind == \"letter\")'\n"
            "  holdfast inspect /var/lib/holdfast/index.1");
        return app;
    }

    ExitCode run(const Globals& /*globals*/) override {
        std::error_code ignored;  // what is no directory is opened as it is, and says so itself
        const bool directory = std::filesystem::is_directory(path_, ignored);
        auto file = InspectedFile::open(directory ? path_ + "/data.mdb" : path_);
        if (!file) return fail(file.error());
        const FileSort sort = sort_of(*file);
        if (sort == FileSort::unknown) {
            return fail(ExitCode::error, path_ + " is no segment, ring, spill file or index of Holdfast");
        }
        const Inspection result = inspect_as(sort, *file);
        if (file->unreadable() > 0) return fail(ExitCode::damage, path_ + ": some of it cannot be read from the disk");
        if (result.newer_format) return fail(ExitCode::newer_format, path_ + ": the format is newer than this tool");
        return result.damaged ? fail(ExitCode::damage, path_ + ": damage found") : ExitCode::ok;
    }

private:
    std::string path_;
};

}  // namespace

std::unique_ptr<Verb> make_inspect_verb() { return std::make_unique<InspectVerb>(); }

}  // namespace holdfast::cli
