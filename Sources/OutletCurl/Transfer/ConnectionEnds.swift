/// The local and remote address of a connection, as passed to `CURLOPT_PREREQFUNCTION`.
struct ConnectionEnds {
    /// IP addresses as C strings that are valid during the callback only; this one is the peer's.
    let remote: UnsafePointer<CChar>
    let local: UnsafePointer<CChar>
    let remotePort: Int32
    let localPort: Int32
}
