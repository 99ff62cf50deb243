// survey.hpp - The limits of schemas.
#ifndef CJSONSCHEMA_SURVEY_HPP
#define CJSONSCHEMA_SURVEY_HPP

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "errors.hpp"
#include "patterns.hpp"
#include "text.hpp"
#include "valijson.hpp"

namespace cjsonschema {

// The maximum number of objects in a schema.
constexpr size_t largest_schema = 2000;
constexpr size_t most_choices = 1000;
// An error lists the values that an 'enum' allows only if the schema names no more values than this
// in all; it also limits the keys that a violation suggests.
constexpr size_t most_searched = 200;
constexpr size_t longest_reference = 1024;
constexpr int most_hops = 64;

// The keywords whose value is a schema or a list of schemas, and those whose value is an object of
// schemas.
constexpr const char *schema_keywords[] = {
    "additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "else", "if",
    "items", "not", "oneOf", "propertyNames", "then"};
constexpr const char *map_keywords[] = {
    "dependencies", "patternProperties", "properties", "definitions"};

// Checks limits of a schema before valijson parses it, makes whole numbers of the limits in it, and
// keeps its patterns and allowed values.
class Survey {
  public:
    explicit Survey(json &schema) : root_(schema) {
        measure();
        // Not recursive. Visits the schemas that valijson's parser can reach: those below keywords,
        // and those that references lead to. A value, such as that of 'const', is none.
        std::vector<json *> rest{&schema};
        std::set<const json *> visited;
        while (!rest.empty()) {
            json &node = *rest.back();
            rest.pop_back();
            if (!node.is_object() || !visited.insert(&node).second) continue;
            look(node);
            if (node.contains("$ref"))
                if (json *next = follow(node)) rest.push_back(next);
            add_subschemas(node, rest);
        }
    }

    const Patterns &patterns() const { return patterns_; }

    // Returns values of 'enum' and 'const' as JSON. They are the schema's, so errors may show them.
    std::vector<std::string> choices(
        const std::function<bool(const Adapter &)> &is_choice) const {
        std::vector<std::string> texts;
        if (values_.size() > most_searched) return texts;
        for (const json *value : values_) {
            if (!is_choice(Adapter(*value))) continue;
            std::string text = value->dump();
            if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
        }
        return texts;
    }

  private:
    json &root_;
    Patterns patterns_;
    std::vector<const json *> values_;

    void measure() const {
        std::vector<const json *> rest{&root_};
        size_t objects = 0;
        while (!rest.empty()) {
            const json &node = *rest.back();
            rest.pop_back();
            if (node.is_object()) {
                if (++objects > largest_schema)
                    throw BadSchema(
                        "it holds more than " + std::to_string(largest_schema) + " objects");
                for (auto &entry : node.items()) refuse_nul(entry.key());
            }
            if (node.is_string()) refuse_nul(node.get_ref<const std::string &>());
            if (node.is_structured())
                for (const json &child : node) rest.push_back(&child);
        }
    }

    // valijson's parser cuts texts at a NUL.
    static void refuse_nul(const std::string &text) {
        if (text.find('\0') != std::string::npos) throw BadSchema("a text in it holds a NUL");
    }

    static void add_subschemas(json &node, std::vector<json *> &rest) {
        for (const char *name : schema_keywords)
            if (auto found = node.find(name); found != node.end()) {
                rest.push_back(&*found);
                if (found->is_array())
                    for (json &child : *found) rest.push_back(&child);
            }
        for (const char *name : map_keywords)
            if (auto found = node.find(name); found != node.end() && found->is_object())
                for (json &child : *found) rest.push_back(&child);
    }

    void look(json &node) {
        auto member = [&](const char *name) -> json * {
            auto found = node.find(name);
            return found == node.end() ? nullptr : &*found;
        };
        for (const char *name : {"maxItems", "maxLength", "maxProperties", "minItems", "minLength",
                                 "minProperties"})
            if (auto limit = member(name)) make_whole(*limit);
        if (auto pattern = member("pattern"); pattern && pattern->is_string())
            patterns_.add(pattern->get_ref<const std::string &>());
        if (auto list = member("patternProperties"); list && list->is_object())
            for (auto &entry : list->items()) patterns_.add(entry.key());
        if (auto divisor = member("multipleOf");
            divisor && divisor->is_number() && !(divisor->get<double>() > 0))
            throw BadSchema("'multipleOf' is not above 0");
        if (auto list = member("enum"); list && list->is_array())
            for (const json &value : *list) values_.push_back(&value);
        if (auto value = member("const")) values_.push_back(value);
        if (values_.size() > most_choices)
            throw BadSchema("it names more than " + std::to_string(most_choices) + " values");
        if (auto type = member("type")) {
            // Of draft 3 only, but valijson's parser takes it for drafts 6 and 7 as well.
            const bool is_any = type->is_array()
                                    ? std::find(type->begin(), type->end(), "any") != type->end()
                                    : *type == "any";
            if (is_any) throw BadSchema("Unrecognised JSON type name 'any'");
        }
        if (auto id = member("id");
            id && id->is_string()
            && id->get_ref<const std::string &>().size() > longest_reference)
            throw BadSchema(
                "an 'id' has more than " + std::to_string(longest_reference) + " bytes");
    }

    // Makes a whole number of one such as 2.0, which valijson's parser refuses as a limit; one that
    // is too large becomes INT64_MAX, because a count is never larger.
    static void make_whole(json &limit) {
        if (!limit.is_number_float()) return;
        const double value = limit.get<double>();
        constexpr double end = 9223372036854775808.0;
        if (value >= end) limit = INT64_MAX;
        else if (value >= -end && std::trunc(value) == value) limit = static_cast<int64_t>(value);
    }

    // Returns what the reference in a schema leads to, over other references; null if that is no
    // reference. Throws for references to other documents, and for references that only lead to each
    // other.
    json *follow(json &node, int hops = 0) const {
        if (!node.is_object()) return nullptr;
        const auto reference = node.find("$ref");
        if (reference == node.end() || !reference->is_string()) return nullptr;
        const auto &text = reference->get_ref<const std::string &>();
        if (text.size() > longest_reference)
            throw BadSchema(
                "a '$ref' has more than " + std::to_string(longest_reference) + " bytes");
        if (text != "#" && text.compare(0, 2, "#/") != 0)
            throw BadSchema("the '$ref' " + in_quotes(text)
                            + " leads out of the schema: only '#' and '#/…' are followed");
        if (hops == most_hops)
            throw BadSchema("the '$ref' " + in_quotes(text) + " leads to itself");
        json &next = target(text.substr(1, text.find_last_not_of('/')));
        json *const end = follow(next, hops + 1);
        return end ? end : &next;
    }

    // Returns the node of a JSON pointer, as valijson's parser finds it; throws if there is none.
    json &target(const std::string &pointer) const {
        using namespace valijson::internal::json_pointer;
        resolveJsonPointer(Adapter(root_), pointer);
        json *node = &root_;
        for (auto start = pointer.begin(); start != pointer.end();) {
            const auto end = std::find(start + 1, pointer.end(), '/');
            const std::string token = extractReferenceToken(start + 1, end);
            if (!token.empty())
                node = node->is_array() ? &node->at(std::stoul(token)) : &node->at(token);
            start = end;
        }
        return *node;
    }
};

} // namespace cjsonschema

#endif
