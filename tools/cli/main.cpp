#include "tools/cli/verb.hpp"

int main(int argc, char** argv) { return holdfast::cli::run_command(argc, argv); }
