// Whether the current thread is inside a task, so that nested parallel loops run serially.
#ifndef DGRAD_THREADS_IN_TASK_H_
#define DGRAD_THREADS_IN_TASK_H_

namespace dgrad {

inline constinit thread_local bool in_task = false;

// Marks the thread for the life of the scope.
class InTask {
 public:
  InTask() : before_(in_task) { in_task = true; }
  ~InTask() { in_task = before_; }
  InTask(const InTask&) = delete;
  InTask& operator=(const InTask&) = delete;

 private:
  const bool before_;
};

}  // namespace dgrad

#endif  // DGRAD_THREADS_IN_TASK_H_
