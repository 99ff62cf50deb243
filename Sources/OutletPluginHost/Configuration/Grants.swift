public import OutletHTTP

/// What a plugin may do: what it asks for, as far as the policy grants it.
///
/// Host services hold their callers to it. A plugin in the process can go around them: this is
/// hygiene, not a sandbox.
///
/// Thread: any.
public struct Grants: Sendable, Equatable {
    /// What is granted, in the order in which the plugin asks for it.
    public let permissions: [Permission]

    /// Nothing is allowed.
    public static let none = Grants([])

    /// Allows what permissions do.
    ///
    /// - Parameter permissions: What is allowed; nothing else is.
    public init(_ permissions: [Permission]) { self.permissions = permissions }

    /// Whether requests may be sent to a server.
    public func allowsNetwork(to origin: Origin) -> Bool {
        permissions.contains { $0.allowsNetwork(to: origin) }
    }

    /// Whether a variable of the environment may be read; its name is compared byte by byte.
    ///
    /// - Parameter name: Compared byte by byte.
    public func allowsVariable(_ name: String) -> Bool {
        permissions.contains { $0.allowsVariable(name) }
    }

    /// Whether a service of the host's may be used at all, such as `outlet.http/1`.
    public func allowsService(_ id: String) -> Bool {
        switch id.cut(at: "/").map({ String($0.head) }) ?? id {
        case "outlet.http": permissions.contains(where: \.isOfNetwork)
        default: true
        }
    }
}

/// What is decided about the permissions that a plugin asks for.
public struct PermissionDecision: Sendable, Equatable {
    /// What the plugin may do, unless anything is withheld: it needs all that it asks for.
    public let grants: Grants
    /// What the policy does not grant, in the plugin's words.
    public let withheld: [String]
    /// What of the plugin's words is no permission that this host knows; never granted.
    public let notUnderstood: [Permission.Invalid]

    /// Decides.
    ///
    /// - Parameters:
    ///   - asked: In the plugin's words.
    ///   - policy: What may be granted; `nil` for all that this host knows.
    init(on asked: [String], by policy: [Permission]?) {
        var granted: [Permission] = []
        var withheld: [String] = []
        var notUnderstood: [Permission.Invalid] = []
        for text in asked {
            do throws(Permission.Invalid) {
                let permission = try Permission(text)
                if let policy, !policy.contains(where: { $0.covers(permission) }) {
                    withheld.append(text)
                } else {
                    granted.append(permission)
                }
            } catch {
                if policy != nil { withheld.append(text) }
                notUnderstood.append(error)
            }
        }
        grants = Grants(granted)
        self.withheld = withheld
        self.notUnderstood = notUnderstood
    }
}
