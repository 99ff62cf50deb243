import FoundationEssentials
import OutletHTTP
import OutletProvider

/// The key of the notes (texts by name) that plugins attach to a request for later plugins.
enum PluginNotes: RequestContextKey {
    typealias Value = [String: String]
}

extension RequestContext {
    // MARK: Attributes that plugins can read

    /// The notes that plugins have attached.
    var notes: [String: String] {
        get { self[PluginNotes.self] ?? [:] }
        set { self[PluginNotes.self, describing: .call] = newValue }
    }

    /// Returns the text of an attribute, computed on demand.
    ///
    /// Associated values of a provider's target are omitted, because they may be secrets.
    ///
    /// - Parameter name: `request.id`, `request.attempt`, `request.redirects`, `target.` followed
    ///   by an attribute of the target, or the name of a note.
    /// - Returns: `nil` if there is no such attribute.
    func attribute(_ name: String) -> String? {
        switch name {
        case "request.id": id?.uuidString
        case "request.attempt": "\(attempt)"
        case "request.redirects": hop > 0 ? "\(hop)" : nil
        default:
            if let fact = name.cut(prefix: "target.") {
                target.flatMap { Self.fact(fact, of: $0) }
            } else {
                notes[name]
            }
        }
    }

    private static func fact(_ name: String, of target: any TargetType) -> String? {
        switch name {
        case "name": "\(type(of: target)).\(caseName(of: target))"
        case "base_url": target.baseURL.absoluteString
        case "path": target.path
        case "authorization":
            (target as? any AccessTokenAuthorizable)?.authorizationType?.value
                ?? target.attributes[name]
        default: target.attributes[name]
        }
    }

    private static func caseName(of target: any TargetType) -> String {
        let mirror = Mirror(reflecting: target)
        guard mirror.displayStyle == .enum else { return target.method.rawValue }
        return mirror.children.first?.label ?? "\(target)"
    }
}

extension String {
    /// Returns the text after a prefix; `nil` if the text does not begin with it.
    fileprivate func cut(prefix: String) -> String? {
        startsWithBytes(of: prefix)
            ? String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
    }
}
