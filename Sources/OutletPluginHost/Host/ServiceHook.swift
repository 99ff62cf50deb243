import OutletHTTP
import OutletSession

/// The call of the session that a stream or a service belongs to, for requests that the plugin sends
/// from its functions.
struct CallOrigin: Sendable {
    /// Returns the session; `nil` if it no longer exists.
    let session: @Sendable () -> Session?
    /// The instances whose hooks are skipped; `nil` for none.
    let excluded: Set<ObjectIdentifier>?
}

/// What a hook of a stream or service is called for.
protocol ServiceSubject: Sendable {
    /// A short description without secrets.
    var name: String { get }
    /// The call of the session that it belongs to; `nil` for none.
    var origin: CallOrigin? { get }
    /// Called before a hook is called with this subject.
    ///
    /// - Returns: `false` where it is too late for the hook, which is then not called.
    func enter() -> Bool
    /// Called after that hook has returned.
    func leave()
}

extension ServiceSubject {
    /// `nil`: the subject belongs to no call.
    var origin: CallOrigin? { nil }
    /// Returns `true`: the subject does not end while it is used.
    func enter() -> Bool { true }
    /// Does nothing: the subject does not end while it is used.
    func leave() {}
}

/// One call of a hook of a stream or service, with the objects that the plugin sees.
///
/// Thread: any.
final class ServiceHook: Completion, @unchecked Sendable {
    // @unchecked as the superclass; the properties are constant.

    /// The objects passed to a hook together with its completion.
    struct Arguments: Sendable {
        var request: (any SettledSubject)?
        var response: (any SettledSubject)?
    }

    private let subject: any ServiceSubject
    private let arguments: Arguments

    /// Creates a call; its deadline starts now.
    ///
    /// - Parameters:
    ///   - hook: The hook.
    ///   - instance: The plugin's instance.
    ///   - subject: The stream, the service or the events that the hook is called for.
    ///   - arguments: The objects passed to the hook.
    ///   - limit: The time limit for the answer in nanoseconds; settings may shorten it.
    init(
        _ hook: PluginHook, of instance: PluginInstance, about subject: any ServiceSubject,
        passing arguments: Arguments, limit: UInt64
    ) {
        self.subject = subject
        self.arguments = arguments
        super.init(hook: hook, instance: instance, limit: limit)
    }

    /// A description of what the hook is called for, without secrets.
    var name: String { subject.name }

    /// The call of the session that the subject belongs to; `nil` for none.
    var origin: CallOrigin? { subject.origin }

    override var subjectName: String? { name.shortened(toBytes: 200) }

    override func argument(_ part: Part) -> (any AnyObject & Sendable)? {
        switch part {
        case .request: arguments.request
        case .response: arguments.response
        case .next: nil
        }
    }

    override func closeArguments() {
        arguments.request?.close()
        arguments.response?.close()
    }

    override func enter() -> Bool { subject.enter() }

    override func leave(wasCalled: Bool) { subject.leave() }
}
