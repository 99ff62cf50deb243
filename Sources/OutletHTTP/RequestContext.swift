public import FoundationEssentials

/// Values that accompany a request inside the library and are never sent.
///
/// The session sets ``id``, ``attempt`` and ``hop`` for requests that pass user-defined
/// interceptors, middleware, plugins or layers. Each of these can add its own values for the next
/// ones:
///
/// ```swift
/// enum Tenant: RequestContextKey { typealias Value = String }
///
/// request.context[Tenant.self] = "blue"
/// ```
///
/// Copies of the request have the same context, and so have requests that follow a redirect. A new
/// request that an adapter, middleware, a layer or a redirect handler passes on in place of the one
/// it was given continues with the context of that one; values of its own context are added.
/// Comparing and hashing requests ignores it.
public struct RequestContext: Sendable {
    /// The id of the session's request, the same for all attempts; `nil` before a session sets it.
    public package(set) var id: UUID?
    /// The number of this attempt, from 1.
    public package(set) var attempt = 1
    /// The number of redirects followed in this attempt.
    public package(set) var hop = 0
    /// Whether the caller accepts a response body in memory: `false` for a download, a stream whose
    /// body is not collected, and a WebSocket.
    package var takesBody = true
    /// Whether the request's transfers must not be shared with equal requests, or outlive its call,
    /// because plugins take part in them.
    package var needsOwnTransfer = false
    /// Whether the request's transfers start at once although all connections are in use, because
    /// other transfers may wait for its response: a plugin sends it.
    package var exceedsLimits = false
    /// The target that a provider made the request from, in an object, because contexts are copied;
    /// `nil` for other requests.
    package var heldTarget: (any AnyObject & Sendable)?
    /// The values by key; an array instead of a dictionary, because there are few.
    @usableFromInline var values: [Entry] = []

    /// What a value describes.
    @usableFromInline package enum Subject: UInt8, Sendable {
        /// Whatever the program has set it for.
        case program
        /// The sender of the request, also of a request that is made from it.
        case sender
        /// The session's call that the request belongs to.
        case call
    }

    /// A value and the identity of its key type.
    @usableFromInline struct Entry: Sendable {
        @usableFromInline let key: ObjectIdentifier
        @usableFromInline let value: any AnyObject & Sendable
        @usableFromInline let subject: Subject

        @usableFromInline init(
            key: ObjectIdentifier, value: any AnyObject & Sendable, subject: Subject
        ) {
            self.key = key
            self.value = value
            self.subject = subject
        }
    }

    /// A box for a value: casting it to its class costs a tenth of a cast from `Any`.
    @usableFromInline final class Held<Value: Sendable>: Sendable {
        @usableFromInline let value: Value

        @usableFromInline init(_ value: Value) { self.value = value }
    }

    /// Makes an empty context.
    public init() {}

    /// The shared empty context of requests that have none.
    @usableFromInline static let empty = Boxed(RequestContext())

    /// Sets ``id`` and ``attempt``.
    package mutating func describe(as id: UUID, attempt: Int) {
        self.id = id
        self.attempt = attempt
    }

    /// The value for a key; `nil` if there is none.
    ///
    /// Setting `nil` removes the value.
    ///
    /// - Parameter key: The key type, such as `Tenant.self`.
    @inlinable public subscript<Key: RequestContextKey>(_ key: Key.Type) -> Key.Value? {
        // Inlined: as an argument, the context of a request would be copied.
        @inline(__always) get { Self.value(of: key, in: values) }
        set { self[key, describing: .program] = newValue }
    }

    /// The value for a key of the library's own.
    ///
    /// - Parameters:
    ///   - key: The key type.
    ///   - subject: What the value describes; values of ``Subject/program`` only are taken from the
    ///     context of a request that the program has made.
    @inlinable
    package subscript<Key: RequestContextKey>(
        _ key: Key.Type, describing subject: Subject
    ) -> Key.Value? {
        @inline(__always) get { Self.value(of: key, in: values) }
        set {
            let entry = newValue.map {
                Entry(key: ObjectIdentifier(key), value: Held($0), subject: subject)
            }
            set(entry, for: ObjectIdentifier(key))
        }
    }

    @usableFromInline mutating func set(_ entry: Entry?, for key: ObjectIdentifier) {
        let index = values.firstIndex { $0.key == key }
        switch (index, entry) {
        case (let index?, let entry?): values[index] = entry
        case (let index?, nil): values.remove(at: index)
        case (nil, let entry?): values.append(entry)
        case (nil, nil): break
        }
    }

    /// Adds the values that the program has set in another context.
    mutating func addValues(of other: RequestContext) {
        for entry in other.values where entry.subject == .program { set(entry, for: entry.key) }
    }

    /// Removes what describes the call that the request belongs to.
    mutating func leaveCall() {
        var left = RequestContext()
        left.needsOwnTransfer = needsOwnTransfer
        left.exceedsLimits = exceedsLimits
        left.heldTarget = heldTarget
        left.values = values.filter { $0.subject != .call }
        self = left
    }

    @inlinable static func value<Key: RequestContextKey>(
        of key: Key.Type, in values: [Entry]
    ) -> Key.Value? {
        for entry in values where entry.key == ObjectIdentifier(key) {
            return (entry.value as? Held<Key.Value>)?.value
        }
        return nil
    }
}

/// A type that serves as the key of a value in a ``RequestContext``.
public protocol RequestContextKey {
    /// The type of the value.
    associatedtype Value: Sendable
}

/// A wrapper whose values are always equal, so that synthesised comparisons ignore the property.
@usableFromInline struct Uncompared<Value: Sendable>: Sendable, Hashable {
    @usableFromInline var value: Value

    @usableFromInline init(_ value: Value) { self.value = value }

    @usableFromInline static func == (a: Self, b: Self) -> Bool { true }

    @usableFromInline func hash(into hasher: inout Hasher) {}
}
