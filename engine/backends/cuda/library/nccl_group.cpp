#include "engine/backends/cuda/library/nccl_group.h"

#include "engine/backends/cuda/library/cuda_check.h"

#ifdef SKEP_HAS_NCCL
#include <nccl.h>

#include <cstring>
#include <exception>
#endif

namespace skep::cuda {

#ifdef SKEP_HAS_NCCL

namespace {

void check_cuda(ncclResult_t code, const char* call, const char* file, int line) {
  if (code == ncclSuccess) [[likely]]
    return;
  fail_cuda(ErrorKind::bug, call, file, line, ncclGetErrorString(code));
}

#define NCCL_CHECK(call) check_cuda((call), #call, __FILE__, __LINE__)

class NcclGroup final : public Group {
 public:
  NcclGroup(const Context& context, const ncclUniqueId& id, int rank, int size)
      : context_(context) {
    context.enter();
    NCCL_CHECK(ncclCommInitRank(&group_, size, id, rank));
  }
  // Destroying waits for the others; while an exception passes they are elsewhere.
  ~NcclGroup() override {
    static_cast<void>(std::uncaught_exceptions() == 0 ? ncclCommDestroy(group_)
                                                      : ncclCommAbort(group_));
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  void sum(float* data, std::size_t count, StreamId stream) override {
    NCCL_CHECK(
        ncclAllReduce(data, data, count, ncclFloat32, ncclSum, group_, context_.stream(stream)));
  }

 private:
  const Context& context_;
  ncclComm_t group_ = nullptr;
};

}  // namespace

std::string why_no_nccl() { return ""; }

GroupId make_nccl_id() {
  ncclUniqueId id;
  NCCL_CHECK(ncclGetUniqueId(&id));
  GroupId bytes;
  static_assert(sizeof id == sizeof bytes);
  std::memcpy(&bytes, &id, sizeof bytes);
  return bytes;
}

std::unique_ptr<Group> join_nccl(const Context& context, const GroupId& bytes, int rank, int size) {
  ncclUniqueId id;
  std::memcpy(&id, &bytes, sizeof id);
  return std::make_unique<NcclGroup>(context, id, rank, size);
}

#else

std::string why_no_nccl() { return "this build has no NCCL"; }
GroupId make_nccl_id() { fail(ErrorKind::bug, "this build has no NCCL"); }
std::unique_ptr<Group> join_nccl(const Context&, const GroupId&, int, int) {
  fail(ErrorKind::bug, "this build has no NCCL");
}

#endif

}  // namespace skep::cuda
