/// The members of a JSON object, in order.
///
/// Two objects are equal when their members are, in the same order. A name that a text repeats is
/// kept as often as it came (RFC 8259 §4 leaves its meaning open); look-ups find the last one.
public struct JSONObject: Sendable, Equatable, Hashable {
    /// One name and its value.
    public struct Member: Sendable, Equatable, Hashable {
        /// The member's name.
        public let name: String
        /// The member's value.
        public var value: JSONValue

        /// Makes a member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in order.
    public private(set) var members: [Member]

    /// No members.
    public init() { members = [] }

    /// The members given; of equal names the last wins and takes the place of the first.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }

    /// The members of a text, repeats kept.
    init(parsed members: [Member]) { self.members = members }

    /// The value of a name; setting one keeps its place or goes to the end, `nil` removes it.
    public subscript(name: String) -> JSONValue? {
        get { members.last { $0.name == name }?.value }
        set {
            guard let newValue else {
                members.removeAll { $0.name == name }
                return
            }
            if let index = members.lastIndex(where: { $0.name == name }) {
                members[index].value = newValue
            } else {
                members.append(Member(name: name, value: newValue))
            }
        }
    }

    /// The value of a name, or another where it is missing; setting keeps the member's place.
    public subscript(name: String, default fallback: @autoclosure () -> JSONValue) -> JSONValue {
        get { self[name] ?? fallback() }
        set { self[name] = newValue }
    }
}

extension JSONObject: RandomAccessCollection {
    /// The position of the first member.
    public var startIndex: Int { members.startIndex }
    /// The position behind the last member.
    public var endIndex: Int { members.endIndex }
    /// The member at a position.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Members in the order written; of equal names the last wins.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
