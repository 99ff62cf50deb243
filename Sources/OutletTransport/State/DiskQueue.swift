package import Dispatch

/// Where files are read, written and moved: work that may wait for a disk, and holds up nobody
/// there.
package enum DiskQueue {
    /// Concurrent, for all sessions of the process.
    package static let shared = DispatchQueue(label: "outlet.disk", attributes: .concurrent)
}
