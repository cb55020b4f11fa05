//===----------------------------------------------------------------------===//
//
// Part of the norm project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "norm/Fuzz/Isolation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace norm;
using namespace norm::fuzz;

using Clock = std::chrono::steady_clock;

/// Bytes of a child's output that a report quotes.
static constexpr off_t kQuoted = 6000;

static bool readAll(int file, void *to, size_t size) {
  char *at = static_cast<char *>(to);
  while (size > 0) {
    ssize_t got = read(file, at, size);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    size -= size_t(got);
  }
  return true;
}

static bool writeAll(int file, const void *from, size_t size) {
  const char *at = static_cast<const char *>(from);
  while (size > 0) {
    ssize_t done = write(file, at, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    size -= size_t(done);
  }
  return true;
}

namespace {

/// One child: it reads indices, and answers each with a length and a text.
class Child {
public:
  static std::unique_ptr<Child> start(llvm::function_ref<Worker()> makeWorker);
  ~Child() { end(); }

  bool give(uint64_t index, double seconds) {
    job = index;
    busy = true;
    ++count;
    printedBefore = lseek(output, 0, SEEK_END);
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(seconds));
    return writeAll(request, &index, sizeof(index));
  }
  /// Reads the answer; how the child ended, if it has.
  JobReport take();
  JobReport timeOut() {
    JobReport report{job, JobReport::Status::TimedOut, ""};
    busy = false;
    kill(process, SIGKILL);
    report.text = quoteOutput();
    end();
    return report;
  }
  /// The last answer was the last job.
  void retire() { count = std::numeric_limits<unsigned>::max(); }
  bool isBusy() const { return busy; }
  bool isAlive() const { return process > 0; }
  int file() const { return answer; }
  unsigned jobs() const { return count; }
  Clock::time_point until() const { return deadline; }

private:
  void serve(int from, int to, llvm::function_ref<Worker()> makeWorker);
  int end();
  std::string quoteOutput();

  pid_t process = -1;
  int request = -1, answer = -1, output = -1;
  uint64_t job = 0;
  unsigned count = 0;
  bool busy = false;
  off_t printedBefore = 0; ///< bytes of output before the job
  Clock::time_point deadline;
};

void Child::serve(int from, int to, llvm::function_ref<Worker()> makeWorker) {
  Worker work = makeWorker();
  uint64_t index = 0;
  while (readAll(from, &index, sizeof(index))) {
    std::string text = work(index);
    uint64_t size = text.size();
    if (!writeAll(to, &size, sizeof(size)) ||
        !writeAll(to, text.data(), text.size()))
      break;
  }
}

std::unique_ptr<Child> Child::start(llvm::function_ref<Worker()> makeWorker) {
  int requests[2], answers[2];
  char path[] = "/tmp/norm-fuzz-XXXXXX";
  int output = mkstemp(path);
  if (output < 0)
    return nullptr;
  unlink(path);
  if (pipe(requests) != 0) {
    close(output);
    return nullptr;
  }
  if (pipe(answers) != 0) {
    close(output);
    close(requests[0]);
    close(requests[1]);
    return nullptr;
  }
  auto child = std::make_unique<Child>();
  child->process = fork();
  if (child->process == 0) {
    // A write to a parent that is gone is an error, not the end; the pipes'
    // other ends must close with the parent.
    signal(SIGPIPE, SIG_IGN);
    close(requests[1]);
    close(answers[0]);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    child->serve(requests[0], answers[1], makeWorker);
    _exit(0);
  }
  close(requests[0]);
  close(answers[1]);
  child->request = requests[1];
  child->answer = answers[0];
  child->output = output;
  if (child->process < 0)
    return nullptr;
  return child;
}

std::string Child::quoteOutput() {
  off_t size = lseek(output, 0, SEEK_END);
  off_t length =
      std::clamp<off_t>(size - std::max<off_t>(printedBefore, 0), 0, kQuoted);
  std::string text(size_t(length), '\0');
  lseek(output, size - length, SEEK_SET);
  if (!readAll(output, text.data(), text.size()))
    text.clear();
  return text;
}

int Child::end() {
  for (int *file : {&request, &answer, &output}) {
    if (*file >= 0)
      close(*file);
    *file = -1;
  }
  int status = 0;
  // Younger children hold copies of the pipes, so closing them ends nothing; a
  // child that has ended by itself keeps its status.
  if (process > 0)
    kill(process, SIGKILL);
  if (process > 0)
    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
      ;
  process = -1;
  return status;
}

JobReport Child::take() {
  busy = false;
  JobReport report{job, JobReport::Status::Done, ""};
  uint64_t size = 0;
  if (readAll(answer, &size, sizeof(size))) {
    report.text.resize(size);
    if (readAll(answer, report.text.data(), size))
      return report;
  }
  report.status = JobReport::Status::Crashed;
  std::string printed = quoteOutput();
  int status = end();
  report.text = WIFSIGNALED(status)
                    ? std::string("signal ") + strsignal(WTERMSIG(status))
                    : "exit status " + std::to_string(WEXITSTATUS(status));
  report.text += "\n" + printed;
  return report;
}

/// The jobs and the children that run them.
class Pool {
public:
  Pool(uint64_t begin, uint64_t end, const IsolationOptions &options,
       llvm::function_ref<Worker()> makeWorker,
       llvm::function_ref<bool(const JobReport &)> report)
      : next(begin), last(end), options(options), makeWorker(makeWorker),
        report(report), children(std::max(options.jobs, 1u)) {}

  llvm::Error run();

private:
  llvm::Error feed(std::unique_ptr<Child> &child);
  void wait();
  void note(const JobReport &done) {
    if (!report(done))
      last = next;
  }

  uint64_t next, last;
  const IsolationOptions &options;
  llvm::function_ref<Worker()> makeWorker;
  llvm::function_ref<bool(const JobReport &)> report;
  std::vector<std::unique_ptr<Child>> children;
};

llvm::Error Pool::feed(std::unique_ptr<Child> &child) {
  if (child && (!child->isAlive() || child->jobs() >= options.jobsPerChild))
    child.reset();
  if (!child)
    child = Child::start(makeWorker);
  // A child that ended at once is seen when its answer is read.
  if (!child)
    return llvm::createStringError("cannot start a process: " +
                                   llvm::Twine(std::strerror(errno)));
  child->give(next++, options.secondsPerJob);
  return llvm::Error::success();
}

/// Waits for an answer or a deadline, and reports what has come.
void Pool::wait() {
  std::vector<pollfd> files;
  std::vector<Child *> busy;
  Clock::time_point first = Clock::time_point::max();
  for (const std::unique_ptr<Child> &child : children)
    if (child && child->isBusy()) {
      files.push_back({child->file(), POLLIN, 0});
      busy.push_back(child.get());
      first = std::min(first, child->until());
    }
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      first - Clock::now());
  poll(files.data(), files.size(),
       int(std::clamp<int64_t>(left.count() + 1, 0, 1000)));
  for (auto [file, child] : llvm::zip(files, busy)) {
    if (file.revents != 0) {
      JobReport done = child->take();
      if (options.endsChild && options.endsChild(done))
        child->retire();
      note(done);
    } else if (Clock::now() >= child->until()) {
      note(child->timeOut());
    }
  }
}

llvm::Error Pool::run() {
  auto isBusy = [](const std::unique_ptr<Child> &child) {
    return child && child->isAlive() && child->isBusy();
  };
  while (next < last || llvm::any_of(children, isBusy)) {
    for (std::unique_ptr<Child> &child : children)
      if (next < last && !isBusy(child))
        if (llvm::Error error = feed(child))
          return error;
    wait();
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error
fuzz::runIsolated(uint64_t begin, uint64_t end, const IsolationOptions &options,
                  llvm::function_ref<Worker()> makeWorker,
                  llvm::function_ref<bool(const JobReport &)> report) {
  // The write to a child that crashed between two jobs fails; its end is then
  // read as that of the job.
  auto before = signal(SIGPIPE, SIG_IGN);
  llvm::Error error = Pool(begin, end, options, makeWorker, report).run();
  signal(SIGPIPE, before);
  return error;
}
