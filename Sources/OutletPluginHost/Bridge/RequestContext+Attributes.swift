import FoundationEssentials
import OutletHTTP
import OutletProvider

/// What plugins have noted in a request, for those that come after.
enum PluginNotes: RequestContextKey {
    typealias Value = [String: String]
}

/// A request's context as C sees it: texts by name, made when they are asked for.
extension RequestContext {
    /// What plugins have noted.
    var notes: [String: String] {
        get { self[PluginNotes.self] ?? [:] }
        set { self[PluginNotes.self] = newValue }
    }

    /// The text under a name; values of the target stay out, they may be secrets.
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
    /// What follows a prefix; `nil` where the text does not begin with it.
    fileprivate func cut(prefix: String) -> String? {
        startsWithBytes(of: prefix)
            ? String(decoding: utf8.dropFirst(prefix.utf8.count), as: UTF8.self) : nil
    }
}
