// Traces Pinocchio's ABA with casadi::SX as scalar, as pinocchio.casadi does, which the wheel lacks.
//     pinocchio_aba MODEL FUNCTION    a file of model.saveToText; the file to write, for casadi.Function.load
#include <pinocchio/autodiff/casadi.hpp>

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>

using casadi::SX;
using Vector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

Vector entries(const SX & column)
{
  Vector out(column.size1());
  for (int i = 0; i < out.size(); ++i)
    out[i] = column(i);
  return out;
}

int main(int, char ** arguments)
{
  pinocchio::Model numbers;
  numbers.loadFromText(arguments[1]);
  const pinocchio::ModelTpl<SX> model = numbers.cast<SX>();
  pinocchio::DataTpl<SX> data(model);
  const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), tau = SX::sym("tau", model.nv);
  const Vector found = pinocchio::aba(model, data, entries(q), entries(v), entries(tau));
  SX a(model.nv, 1);
  for (int i = 0; i < model.nv; ++i)
    a(i) = found[i];
  casadi::Function("aba", {q, v, tau}, {a}, {"q", "v", "tau"}, {"a"}, {{"cse", true}}).save(arguments[2]);
}
