// place.hpp - Where in a schema an error is.
#ifndef CJSONSCHEMA_PLACE_HPP
#define CJSONSCHEMA_PLACE_HPP

#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "survey.hpp"
#include "text.hpp"
#include "valijson.hpp"

namespace cjsonschema {

// Finds the keyword that makes a schema unusable: valijson's errors do not name it.
//
// Parses each schema within the schema by itself, with empty schemas in place of those in it.
class FaultFinder {
  public:
    FaultFinder(const json &schema, valijson::SchemaParser::Version draft) : draft_(draft) {
        // Not recursive. The definitions come last, because those that nothing refers to do not count.
        std::deque<Node> rest{{"", &schema}};
        while (!rest.empty() && !is_found) {
            const Node node = rest.front();
            rest.pop_front();
            look(node);
            add_subschemas(node, rest);
        }
    }

    bool is_found = false;
    // A JSON pointer to the value of the keyword, or to its schema.
    std::string path;
    std::string fact;

  private:
    struct Node {
        std::string path;
        const json *schema;
    };

    // A schema with more keywords, or a longer one, is named as a whole.
    static constexpr size_t most_keywords = 100;
    static constexpr size_t longest_schema = 65536;

    const valijson::SchemaParser::Version draft_;

    void look(const Node &node) {
        if (!node.schema->is_object() || node.schema->contains("$ref")) return;
        const json alone = without_subschemas(*node.schema);
        is_found = is_unusable(alone, &fact);
        if (!is_found) return;
        path = node.path;
        if (alone.size() > most_keywords || alone.dump().size() > longest_schema) return;
        for (auto &entry : alone.items()) {
            json rest = alone;
            rest.erase(entry.key());
            if (is_unusable(rest)) continue;
            path += "/" + token(entry.key());
            return;
        }
    }

    bool is_unusable(json schema, std::string *fact = nullptr) const {
        try {
            const Survey survey(schema);
            valijson::Schema model;
            valijson::SchemaParser(draft_).populateSchema(Adapter(schema), model);
            return false;
        } catch (const std::bad_alloc &) {
            throw;
        } catch (const std::exception &error) {
            if (fact) *fact = error.what();
            return true;
        }
    }

    static json emptied(const json &schema) { return schema.is_object() ? json::object() : schema; }

    static json without_subschemas(const json &schema) {
        json alone = json::object();
        for (auto &entry : schema.items()) {
            json &value = alone[entry.key()] = json();
            if (entry.key() == "definitions" && entry.value().is_object()) {
                value = json::object();
            } else if (!has_subschemas(entry.key())) {
                value = entry.value();
            } else if (is_in(entry.key(), map_keywords) && entry.value().is_object()) {
                value = json::object();
                for (auto &child : entry.value().items()) value[child.key()] = emptied(child.value());
            } else if (entry.value().is_array()) {
                value = json::array();
                for (const json &child : entry.value()) value.push_back(emptied(child));
            } else {
                value = emptied(entry.value());
            }
        }
        return alone;
    }

    void add_subschemas(const Node &node, std::deque<Node> &rest) const {
        if (!node.schema->is_object()) return;
        std::vector<Node> found;
        for (const char *name : schema_keywords) {
            const auto child = node.schema->find(name);
            if (child == node.schema->end()) continue;
            const std::string path = node.path + "/" + name;
            found.push_back({path, &*child});
            if (child->is_array())
                for (size_t index = 0; index < child->size(); ++index)
                    found.push_back({path + "/" + std::to_string(index), &(*child)[index]});
        }
        for (const char *name : map_keywords) {
            const auto children = node.schema->find(name);
            if (children == node.schema->end() || !children->is_object()) continue;
            const bool is_last = name == std::string("definitions");
            for (auto &child : children->items()) {
                Node next{node.path + "/" + name + "/" + token(child.key()), &child.value()};
                if (is_last) rest.push_back(std::move(next));
                else found.push_back(std::move(next));
            }
        }
        rest.insert(rest.begin(), found.begin(), found.end());
    }

    static bool has_subschemas(const std::string &name) {
        return is_in(name, schema_keywords) || is_in(name, map_keywords);
    }

    template <size_t count>
    static bool is_in(const std::string &name, const char *const (&names)[count]) {
        for (const char *other : names)
            if (name == other) return true;
        return false;
    }

    // A key as a token of a JSON pointer (RFC 6901).
    static std::string token(const std::string &key) {
        std::string text;
        for (const char byte : key) {
            if (byte == '~') text += "~0";
            else if (byte == '/') text += "~1";
            else text += byte;
        }
        return text;
    }
};

} // namespace cjsonschema

#endif
