/// An encoded value before it is written as pairs.
enum FormComponent {
    case string(String)
    case array([FormSlot])
    case object(FormMembers)
}

/// The members of an object, in the order in which they were first encoded.
struct FormMembers {
    private(set) var list: [(key: String, slot: FormSlot)] = []
    private var positions: [String: Int] = [:]

    /// Returns a new slot for a member; it replaces an existing one at the same position.
    mutating func slot(of key: String) -> FormSlot {
        let slot = FormSlot()
        if let position = positions[key] {
            list[position].slot = slot
        } else {
            positions[key] = list.count
            list.append((key, slot))
        }
        return slot
    }

    /// Returns the existing slot of a member, or a new one.
    mutating func opened(_ key: String) -> FormSlot {
        positions[key].map { list[$0].slot } ?? slot(of: key)
    }
}

/// A node of the encoded tree, which a container of the encoder fills in.
///
/// A class, because containers outlive the call that made them, and several containers may write
/// to the same node. Only the encoder that made the tree uses it.
final class FormSlot {
    /// The encoded value; `nil` if nothing was encoded, which leaves the node out.
    var component: FormComponent?

    init(_ component: FormComponent? = nil) { self.component = component }

    /// Makes this an empty object, unless it is an object already.
    func becomeObject() {
        if case .object = component { return }
        component = .object(FormMembers())
    }

    /// Makes this an empty array, unless it is an array already.
    func becomeArray() {
        if case .array = component { return }
        component = .array([])
    }

    /// Returns a new slot for a member of this object; it replaces an existing one.
    func member(_ key: String) -> FormSlot {
        guard case .object(var members) = component else { return FormSlot() }
        component = nil
        let slot = members.slot(of: key)
        component = .object(members)
        return slot
    }

    /// Returns the existing slot of a member of this object, or a new one.
    func opened(_ key: String) -> FormSlot {
        guard case .object(var members) = component else { return FormSlot() }
        component = nil
        let slot = members.opened(key)
        component = .object(members)
        return slot
    }

    /// Returns the slot of a new element; makes this an array, unless it is one already.
    func element() -> FormSlot {
        becomeArray()
        guard case .array(var elements) = component else { return FormSlot() }
        component = nil
        let slot = FormSlot()
        elements.append(slot)
        component = .array(elements)
        return slot
    }

    var isArray: Bool {
        if case .array = component { true } else { false }
    }

    var isObject: Bool {
        if case .object = component { true } else { false }
    }

    /// The number of elements; 0 unless this is an array.
    var count: Int {
        guard case .array(let elements) = component else { return 0 }
        return elements.count
    }
}

/// Writes the tree as `key=value` pairs.
struct FormSerializer {
    let options: URLEncodedFormEncoder

    func serialize(_ members: FormMembers, path: (String) -> String = { $0 }) -> String {
        var pairs = members.list.compactMap { member in
            serialize(member.slot, forKey: path(options.keyEncoding.encode(member.key)))
        }
        if options.alphabetizeKeyValuePairs { pairs.sort() }
        return pairs.joined(separator: "&")
    }

    /// Returns the pairs of a value; `nil` if there are none, as for empty arrays.
    private func serialize(_ slot: FormSlot, forKey key: String) -> String? {
        switch slot.component {
        case nil: return nil
        case .string(let value): return "\(escape(key))=\(escape(value))"
        case .array(let elements):
            // Indices count only the elements that are written.
            let present = elements.filter { $0.component != nil }
            var pairs = present.enumerated().compactMap { index, element in
                serialize(element, forKey: options.arrayEncoding.encode(key, atIndex: index))
            }
            // If elements are both arrays and objects, no server could restore their order anyway.
            if options.alphabetizeKeyValuePairs, present.contains(where: \.isArray),
                present.contains(where: \.isObject)
            {
                pairs.sort()
            }
            return pairs.isEmpty ? nil : pairs.joined(separator: "&")
        case .object(let members):
            let pairs = serialize(members) { key + options.keyPathEncoding.encodeKeyPath($0) }
            return pairs.isEmpty ? nil : pairs
        }
    }

    private func escape(_ text: String) -> String {
        text.percentEncoded(
            allowing: options.allowedCharacters, space: options.spaceEncoding.replacement)
    }
}
