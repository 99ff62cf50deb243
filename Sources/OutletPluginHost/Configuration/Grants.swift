public import OutletHTTP

/// The permissions of a plugin: those it asks for and the policy grants.
///
/// Host services enforce them. Code in the same process can bypass the host, so they are no
/// sandbox.
///
/// Thread: any.
public struct Grants: Sendable, Equatable {
    /// The granted permissions, in the order in which the plugin asks for them.
    public let permissions: [Permission]

    /// No permissions.
    public static let none = Grants([])

    /// Grants permissions.
    ///
    /// - Parameter permissions: The granted permissions; nothing else is allowed.
    public init(_ permissions: [Permission]) { self.permissions = permissions }

    /// Whether requests may be sent to a server.
    ///
    /// - Parameter origin: The scheme, host and port; the scheme makes no difference.
    public func allowsNetwork(to origin: Origin) -> Bool {
        permissions.contains { $0.allowsNetwork(to: origin) }
    }

    /// Whether an environment variable may be read.
    ///
    /// - Parameter name: The variable's name, compared byte by byte.
    public func allowsVariable(_ name: String) -> Bool {
        permissions.contains { $0.allowsVariable(name) }
    }

    /// Whether a host service may be used.
    ///
    /// `outlet.http` needs at least one network permission; other services need none.
    ///
    /// - Parameter id: The service's id, such as `outlet.http/1`; the version makes no difference.
    public func allowsService(_ id: String) -> Bool {
        switch id.cut(at: "/").map({ String($0.head) }) ?? id {
        case "outlet.http": permissions.contains(where: \.isOfNetwork)
        default: true
        }
    }
}

/// The decision about the permissions that a plugin asks for.
public struct PermissionDecision: Sendable, Equatable {
    /// The granted permissions; valid only if ``withheld`` is empty, since a plugin needs all that
    /// it asks for.
    public let grants: Grants
    /// The permissions that the policy does not grant, as the plugin wrote them.
    public let withheld: [String]
    /// Permissions that this host does not know, or that are malformed; never granted.
    public let notUnderstood: [Permission.Invalid]

    /// Decides which permissions are granted.
    ///
    /// - Parameters:
    ///   - asked: The permissions as the plugin wrote them.
    ///   - policy: The permissions that may be granted; `nil` grants all that this host knows.
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
