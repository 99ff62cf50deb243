// valijson.hpp - The parts of valijson that are used.
//
// valijson's parser converts a schema to constraints. Its own validator is not used. It matches
// patterns with std::regex, whose recursion and backtracking are unbounded, recurses without end in
// schemas that contain themselves, divides by a 'multipleOf' of 0, and does not say what it
// expected.
#ifndef CJSONSCHEMA_VALIJSON_HPP
#define CJSONSCHEMA_VALIJSON_HPP

#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/constraints/constraint_visitor.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>

namespace cjsonschema {

using Adapter = valijson::adapters::NlohmannJsonAdapter;
using valijson::Subschema;

} // namespace cjsonschema

#endif
