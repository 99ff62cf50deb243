public import FoundationEssentials

/// What is known of a request besides what is sent.
///
/// Whose it is, which attempt and which hop, and what those it passes have to tell each other. Never sent.
///
/// The session fills in ``id``, ``attempt`` and ``hop`` for requests that pass interceptors, middleware,
/// plugins or layers of the user's; everybody on the way may add values of their own:
///
/// ```swift
/// enum Tenant: RequestContextKey { typealias Value = String }
///
/// request.context[Tenant.self] = "blue"
/// ```
///
/// A context goes along with copies of its request, and to the hops that redirects lead to. It takes no
/// part in comparing requests.
public struct RequestContext: Sendable {
    /// The id of the session's request, the same at every attempt; `nil` until a session has taken it.
    public package(set) var id: UUID?
    /// Which attempt this is, from 1.
    public package(set) var attempt = 1
    /// How many redirects have led here in this attempt.
    public package(set) var hop = 0
    /// Whether the call takes a body that is in memory: not a download, a stream or a WebSocket.
    package var takesBody = true
    /// Whether the request has a transfer of its own, which no equal request shares: what is done with it on
    /// the wire is not what would be done with others.
    package var needsOwnTransfer = false
    /// What the request was made of, where a provider made it.
    package var targetValue: (any Sendable)?
    /// A list, because there are few.
    @usableFromInline var values: [Entry] = []

    /// A value and the type that names it.
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let key: ObjectIdentifier
        @usableFromInline let value: any AnyObject & Sendable

        @usableFromInline init(key: ObjectIdentifier, value: any AnyObject & Sendable) {
            self.key = key
            self.value = value
        }
    }

    /// Holds a value: a cast between classes costs a tenth of one of any value.
    @usableFromInline final class Held<Value: Sendable>: Sendable {
        @usableFromInline let value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    /// A context that says nothing.
    public init() {}

    /// The context of requests that have none.
    @usableFromInline static let empty = Boxed(RequestContext())

    /// Sets ``id`` and ``attempt``.
    package mutating func describe(as id: UUID, attempt: Int) {
        self.id = id
        self.attempt = attempt
    }

    /// The value under a key; `nil` if there is none.
    ///
    /// Setting `nil` removes it.
    ///
    /// - Parameter key: The type that names the value.
    @inlinable public subscript<Key: RequestContextKey>(_ key: Key.Type) -> Key.Value? {
        get {
            for entry in values where entry.key == ObjectIdentifier(key) {
                return (entry.value as? Held<Key.Value>)?.value
            }
            return nil
        }
        set {
            let entry = newValue.map { Entry(key: ObjectIdentifier(key), value: Held($0)) }
            let index = values.firstIndex { $0.key == ObjectIdentifier(key) }
            switch (index, entry) {
            case (let index?, let entry?): values[index] = entry
            case (let index?, nil): values.remove(at: index)
            case (nil, let entry?): values.append(entry)
            case (nil, nil): break
            }
        }
    }
}

/// Names a value in a ``RequestContext`` by a type.
public protocol RequestContextKey {
    /// What is kept under this name.
    associatedtype Value: Sendable
}

/// A value that takes no part in comparing what holds it.
@usableFromInline struct Uncompared<Value: Sendable>: Sendable, Hashable {
    @usableFromInline var value: Value

    @usableFromInline init(_ value: Value) { self.value = value }

    @usableFromInline static func == (a: Self, b: Self) -> Bool { true }

    @usableFromInline func hash(into hasher: inout Hasher) {}
}
