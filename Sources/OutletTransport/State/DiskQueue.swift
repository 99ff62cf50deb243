package import Dispatch

/// The queue for file operations, so that other queues never wait for a disk.
package enum DiskQueue {
    /// A concurrent queue, shared by all sessions of the process.
    package static let shared = DispatchQueue(label: "outlet.disk", attributes: .concurrent)
}
