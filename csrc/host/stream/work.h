// Work for the worker pool.
#pragma once

namespace gridstride::host {

class Worker;

// Work is made of pieces that should take a fraction of a millisecond each: workers change between
// the works in flight after every piece, and a long one delays a short one only a little. Nothing
// here may wait for other work, and nothing may throw.
class Work {
 public:
  virtual ~Work();

  // Claims and runs one piece; false when none was left to claim.
  virtual bool run_piece(Worker& worker) = 0;

  // Called once, by the worker that ended the last piece. It may submit further work.
  virtual void completed() = 0;

  // Whether several workers may be in run_piece at the same time. Called once per piece.
  virtual bool divisible() const { return false; }

  // Whether the rest of divisible work justifies waking a worker, or sharing it with one that is
  // awake. Called once per piece.
  virtual bool wants_help(bool is_awake) {
    static_cast<void>(is_awake);
    return true;
  }

 protected:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

 private:
  friend class WorkerPool;

  // The pool's own, under its lock.
  unsigned workers_inside_ = 0;
  bool queued_ = false;
  bool exhausted_ = false;
};

}  // namespace gridstride::host
