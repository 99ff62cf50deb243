/// What a value has become on its way to a form.
enum FormComponent {
    case string(String)
    case array([FormSlot])
    case object(FormMembers)
}

/// The members of an object, in the order in which they were first encoded.
struct FormMembers {
    private(set) var list: [(key: String, slot: FormSlot)] = []
    private var positions: [String: Int] = [:]

    /// The place of a member, new or emptied.
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

    /// The place of a member, as it is, or new.
    mutating func opened(_ key: String) -> FormSlot {
        positions[key].map { list[$0].slot } ?? slot(of: key)
    }
}

/// A place in the tree that a container of the encoder fills in.
///
/// Containers outlive the call that made them, and several may write to one place: so it is a
/// reference. Nothing but the encoder that made it sees it.
final class FormSlot {
    /// `nil` while nothing was encoded here; then the place is left out.
    var component: FormComponent?

    init(_ component: FormComponent? = nil) { self.component = component }

    /// Makes this an object, if it is not one yet.
    func becomeObject() {
        if case .object = component { return }
        component = .object(FormMembers())
    }

    /// Makes this an array, if it is not one yet.
    func becomeArray() {
        if case .array = component { return }
        component = .array([])
    }

    /// The place of a member, new or emptied.
    func member(_ key: String) -> FormSlot {
        guard case .object(var members) = component else { return FormSlot() }
        component = nil
        let slot = members.slot(of: key)
        component = .object(members)
        return slot
    }

    /// The place of a member, as it is, or new.
    func opened(_ key: String) -> FormSlot {
        guard case .object(var members) = component else { return FormSlot() }
        component = nil
        let slot = members.opened(key)
        component = .object(members)
        return slot
    }

    /// The place of a further element; this becomes an array, if it is not one yet.
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

    /// How many elements there are.
    var count: Int {
        guard case .array(let elements) = component else { return 0 }
        return elements.count
    }
}

/// Turns the tree into pairs.
struct FormSerializer {
    let options: URLEncodedFormEncoder

    func serialize(_ members: FormMembers, path: (String) -> String = { $0 }) -> String {
        var pairs = members.list.compactMap { member in
            serialize(member.slot, forKey: path(options.keyEncoding.encode(member.key)))
        }
        if options.alphabetizeKeyValuePairs { pairs.sort() }
        return pairs.joined(separator: "&")
    }

    /// `nil` when there is nothing to write, as for empty arrays.
    private func serialize(_ slot: FormSlot, forKey key: String) -> String? {
        switch slot.component {
        case nil: return nil
        case .string(let value): return "\(escape(key))=\(escape(value))"
        case .array(let elements):
            // An element that is left out gives its index to the next one.
            let present = elements.filter { $0.component != nil }
            var pairs = present.enumerated().compactMap { index, element in
                serialize(element, forKey: options.arrayEncoding.encode(key, atIndex: index))
            }
            // Where arrays stand among objects, no reader could tell their order anyway.
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
