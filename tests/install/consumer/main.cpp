// A program outside Skep: the gradient of sum(x²) on each rank, for its own x, summed over all
// ranks.
#include <fmt/ranges.h>

#include "engine/autograd/tape.h"
#include "engine/ops/ops.h"
#include "mpi_comm/mpi_communicator.h"

int main(int argc, char** argv) {
  const skep::Environment environment(argc, argv);
  skep::MpiCommunicator comm(environment);
  const float r = static_cast<float>(comm.rank());

  const skep::Tensor x =
      skep::with_grad(skep::tensor_of<float>({1 + r, 2 + r, 3 + r}, skep::Shape{3}));
  skep::Tape tape;
  const skep::Tensor loss = skep::sum(skep::mul(x, x));
  tape.backward(loss);

  std::vector<double> gradient = skep::to_doubles(skep::grad_of(x));
  comm.all_reduce(gradient);
  const double total = comm.all_reduce(loss.item(), skep::Combine::sum);
  if (comm.rank() == 0)
    fmt::print("{} ranks: loss {}, gradient {}\n", comm.size(), total, gradient);
}
