internal import CFaults
internal import OutletSession
internal import OutletTransport

/// Delays `getaddrinfo` for one host name, which ends in `.slow.test`, until the test allows it.
///
/// Look-ups of the name block the calling thread, as with a name server that does not answer.
/// Every other name is resolved as usual.
public final class SlowNameService: Sendable {
    private static let services = Lock<[String: SlowNameService]>([:])
    private static let observe: Void = observe_slow_lookups { name in
        guard let name else { return }
        let text = String(cString: name)
        let label = text.prefix { $0 != "." }
        services.withLock { $0[String(label)] }?.answer(text)
    }

    /// The host name whose look-up is delayed.
    public let hostName: String
    /// The name of each look-up, recorded when it begins.
    public let lookups = Recorder<String>()
    /// The name of each look-up, recorded when it ends.
    public let answers = Recorder<String>()

    private let gate: Gate
    private let limit: Duration

    /// Makes a name whose look-up takes `limit`, unless ``answer()`` is called before.
    ///
    /// - Throws: ``TestSupportError`` if there are no descriptors left.
    public init(taking limit: Duration = .seconds(60)) throws {
        gate = try Gate()
        self.limit = limit
        let label = "name\(UInt64.random(in: 0 ... .max))"
        hostName = "\(label).slow.test"
        _ = Self.observe
        Self.services.withLock { $0[label] = self }
    }

    /// Ends all look-ups of the name, with the result that it does not exist.
    public func answer() {
        let label = hostName.prefix { $0 != "." }
        _ = Self.services.withLock { $0.removeValue(forKey: String(label)) }
        gate.open()
    }

    private func answer(_ name: String) {
        lookups.record(name)
        _ = gate.isOpen(within: limit)
        answers.record(name)
    }
}
