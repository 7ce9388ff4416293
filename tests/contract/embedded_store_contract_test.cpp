// Property: the embedded store keeps the contract of DlqStore.
// Method: the contract suite, on a store with all its threads in a temporary directory.
// Oracle: the suite's own.
#include "tests/contract/dlq_store_contract.hpp"
