import FoundationEssentials
import OutletHTTP
import OutletTransport

/// The paths at which servers have requested credentials, so that the next request sends them at
/// once.
struct ProtectedPaths: Sendable {
    private struct Path: Sendable {
        let prefix: String
        let space: ProtectionSpace
    }

    /// The maximum number of paths of one origin; further paths cost a challenge each time.
    private static let limit = 64

    private var paths: [Origin: [Path]] = [:]

    /// Returns the protection space that a URL belongs to; `nil` if it is not known.
    ///
    /// With Basic, a space covers all paths below the last slash of a URL that belongs to it (RFC
    /// 7617 §2.2). With other methods it covers the whole origin.
    func space(for url: URL) -> ProtectionSpace? {
        guard !paths.isEmpty, let origin = try? Origin(url), let known = paths[origin] else {
            return nil
        }
        let path = url.wirePath
        return known.filter { path.startsWithBytes(of: $0.prefix) }
            .max { $0.prefix.utf8.count < $1.prefix.utf8.count }?.space
    }

    /// Records that a URL belongs to a protection space.
    mutating func insert(_ space: ProtectionSpace, for url: URL) {
        guard let origin = try? Origin(url) else { return }
        var prefix = "/"
        if space.authenticationMethod == AuthenticationScheme.basic.rawValue {
            prefix = (url.wirePath.cutAtLast("/")?.head ?? "") + "/"
        }
        var known = paths[origin] ?? []
        known.removeAll {
            $0.prefix == prefix || ($0.space == space && $0.prefix.startsWithBytes(of: prefix))
        }
        known.append(Path(prefix: prefix, space: space))
        if known.count > Self.limit { known.removeFirst() }
        paths[origin] = known
    }

    /// Removes the paths of a space whose credential was refused.
    mutating func remove(_ space: ProtectionSpace, for url: URL) {
        guard let origin = try? Origin(url) else { return }
        paths[origin]?.removeAll { $0.space == space }
        if paths[origin]?.isEmpty == true { paths[origin] = nil }
    }
}
