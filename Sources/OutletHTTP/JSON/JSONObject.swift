/// The members of a JSON object, in order.
///
/// Two objects are equal if they have equal members in the same order. Look-ups compare names byte
/// by byte (RFC 8259 §8.3), so `é` as one scalar and as two are different names. Names that a
/// parsed text repeats are all kept (RFC 8259 §4 does not define their meaning); look-ups find the
/// last one.
///
/// A look-up in an object that was built member by member takes constant time; in a parsed one it
/// compares all names.
public struct JSONObject: Sendable, Equatable, Hashable {
    /// One name and its value.
    public struct Member: Sendable, Equatable, Hashable {
        /// The member's name.
        public let name: String
        /// The member's value.
        public var value: JSONValue

        /// Makes a member.
        ///
        /// - Parameters:
        ///   - name: The member's name.
        ///   - value: The member's value.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in order.
    public private(set) var members: [Member]

    /// The position of the last member with each name; empty if it is not known.
    ///
    /// Kept while members are set in an object with more than ``largestScanned`` members, because
    /// building an object would else take quadratic time.
    private var positions: [Name: Int] = [:]

    /// The most members whose names are compared one by one.
    private static let largestScanned = 16

    /// A name that is compared byte by byte.
    private struct Name: Hashable {
        let text: String

        static func == (a: Self, b: Self) -> Bool { a.text.hasSameBytes(as: b.text) }

        func hash(into hasher: inout Hasher) {
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }

    /// Makes an object without members.
    public init() { members = [] }

    /// Makes an object; of equal names the last value wins, at the first one's position.
    ///
    /// - Parameter members: The names and values, in order.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }

    /// Makes an object from parsed members; keeps repeated names.
    package init(parsed members: [Member]) { self.members = members }

    /// The value of a member, of the last one if the name is repeated; `nil` if there is none.
    ///
    /// Setting a value replaces the value of an existing member, or appends a member. Setting `nil`
    /// removes all members with that name.
    ///
    /// - Parameter name: The member's name, case-sensitive.
    public subscript(name: String) -> JSONValue? {
        get { position(of: name).map { members[$0].value } }
        set {
            guard let newValue else {
                members.removeAll { $0.name.hasSameBytes(as: name) }
                positions = [:]
                return
            }
            if positions.isEmpty, members.count > Self.largestScanned { index() }
            if let position = position(of: name) {
                members[position].value = newValue
            } else {
                if !positions.isEmpty { positions[Name(text: name)] = members.count }
                members.append(Member(name: name, value: newValue))
            }
        }
    }

    /// The position of the last member with a name; `nil` if there is none.
    private func position(of name: String) -> Int? {
        guard positions.isEmpty else { return positions[Name(text: name)] }
        return members.lastIndex { $0.name.hasSameBytes(as: name) }
    }

    private mutating func index() {
        positions.reserveCapacity(members.count)
        for (position, member) in members.enumerated() {
            positions[Name(text: member.name)] = position
        }
    }

    /// Whether both have equal members in the same order.
    public static func == (a: JSONObject, b: JSONObject) -> Bool { a.members == b.members }

    /// Hashes the members in order.
    public func hash(into hasher: inout Hasher) { hasher.combine(members) }

    /// The value of a member, or a default if there is none.
    ///
    /// Setting a value replaces the value of an existing member, or appends a member.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - fallback: The default; evaluated only if there is no such member.
    public subscript(name: String, default fallback: @autoclosure () -> JSONValue) -> JSONValue {
        get { self[name] ?? fallback() }
        set { self[name] = newValue }
    }
}

extension JSONObject: RandomAccessCollection {
    /// The position of the first member.
    public var startIndex: Int { members.startIndex }
    /// The position after the last member.
    public var endIndex: Int { members.endIndex }
    /// The member at a position.
    ///
    /// - Parameter position: The index of the member, from 0; a trap if it is out of range.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Makes an object with members in the order written; of equal names the last value wins.
    ///
    /// - Parameter elements: The names and values, in order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
