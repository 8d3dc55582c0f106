#include "src/base/no_destructor.h"
#include "src/threads/executor.h"

namespace dgrad {
namespace {

class Serial final : public Executor {
 public:
  int concurrency() const override { return 1; }

  Status ParallelFor(int64_t count, FunctionRef<void(int64_t)> task) override {
    for (int64_t i = 0; i < count; ++i) task(i);
    return {};
  }
};

constinit NoDestructor<Serial> serial;

}  // namespace

Executor& SerialExecutor() { return serial.value; }

}  // namespace dgrad
