import COutletPlugin
import FoundationEssentials
import OutletHTTP
import OutletProvider
import OutletSession
import OutletTransport

/// A plugin's `prepare`, `will_send`, `did_receive` and `process` as a provider's plugin.
final class HookedPlugin: PluginType {
    private let instance: PluginInstance
    private let answers: AnswerStore
    private let running: RunningPlugins

    init(_ instance: PluginInstance, answers: AnswerStore, keeping running: RunningPlugins) {
        self.running = running
        self.instance = instance
        self.answers = answers
    }

    func prepare(_ request: HTTPRequest, target: any TargetType) throws -> HTTPRequest {
        guard let hook = instance.hooks.prepare else { return request }
        let handle = RequestHandle(
            request, isMutable: true, canBeAnswered: answers.isServed)
        let id = HandleTable.shared.insert(handle, owner: instance.owner.number)
        defer { HandleTable.shared.remove(id) }
        let stopwatch = Stopwatch(instance.owner.observer)
        let failure = try failure(of: .prepare) { hook($0, $1, outlet_request(id: id)) }
        let (changed, answer) = handle.seal()
        let prepared = request.accepting(changed)
        stopwatch.report(
            instance.owner, .prepare, requestID: request.attributes["request.id"],
            effects: { Effects.of(request, prepared, answer: answer) },
            failure: failure?.message)
        if let failure { throw failure }
        return answers.attach(answer, to: prepared)
    }

    func willSend(_ request: any RequestType, target: any TargetType) {
        guard let hook = instance.hooks.will_send else { return }
        let sent = request.request ?? HTTPRequest(url: nil)
        let handle = RequestHandle(sent, isMutable: false)
        let id = HandleTable.shared.insert(handle, owner: instance.owner.number)
        defer { HandleTable.shared.remove(id) }
        watch(.willSend, sent) { hook($0, $1, outlet_request(id: id)) }
    }

    func didReceive(_ result: Result<Response, ProviderError>, target: any TargetType) {
        guard let hook = instance.hooks.did_receive else { return }
        let (request, outcome) = Exchange.of(result, target: target)
        let table = HandleTable.shared
        let owner = instance.owner.number
        let id = table.insert(RequestHandle(request, isMutable: false), owner: owner)
        let response = table.insert(ResponseHandle(outcome, isMutable: false), owner: owner)
        defer {
            table.remove(id)
            table.remove(response)
        }
        watch(.didReceive, request) {
            hook($0, $1, outlet_request(id: id), outlet_response(id: response))
        }
    }

    func process(
        _ result: Result<Response, ProviderError>, target: any TargetType
    ) -> Result<Response, ProviderError> {
        guard let hook = instance.hooks.process else { return result }
        let (request, outcome) = Exchange.of(result, target: target)
        let table = HandleTable.shared
        let owner = instance.owner.number
        let handle = ResponseHandle(outcome, isMutable: true)
        let id = table.insert(RequestHandle(request, isMutable: false), owner: owner)
        let response = table.insert(handle, owner: owner)
        defer {
            table.remove(id)
            table.remove(response)
        }
        let stopwatch = Stopwatch(instance.owner.observer)
        var error: PluginError?
        do {
            error = try failure(of: .process) {
                hook($0, $1, outlet_request(id: id), outlet_response(id: response))
            }
        } catch let closed {
            error = closed
        }
        let replacement = handle.seal()
        if case .failure(let message)? = replacement, error == nil {
            error = PluginError(
                plugin: instance.id, hook: .process, kind: .failed, message: message)
        }
        stopwatch.report(
            instance.owner, .process, requestID: request.attributes["request.id"],
            effects: { Effects.of(replacement) }, failure: error?.message)
        if let error { return .failure(.underlying(error, Exchange.response(of: result))) }
        guard case .response(let answer)? = replacement else { return result }
        return .success(Exchange.response(answer, in: result, request: request))
    }

    // MARK: Calls

    /// Calls a hook that may fail.
    ///
    /// - Returns: Why it failed; `nil` when it did not.
    /// - Throws: When the plugin is closed.
    private func failure(
        of hook: PluginHook, _ body: (OpaquePointer, outlet_call) -> outlet_status
    ) throws(PluginError) -> PluginError? {
        let context = CallContext(deadline: 0)
        let call = HandleTable.shared.insert(context, owner: instance.owner.number)
        defer { HandleTable.shared.remove(call) }
        let status = try instance.perform(hook) { body($0, outlet_call(id: call)) }
        guard status != OUTLET_OK else { return nil }
        return PluginError(
            plugin: instance.id, hook: hook, kind: .failed, message: context.reason(status))
    }

    /// Calls a hook that only watches; one that is closed misses it.
    private func watch(
        _ hook: PluginHook, _ request: HTTPRequest, _ body: (OpaquePointer, outlet_call) -> Void
    ) {
        let stopwatch = Stopwatch(instance.owner.observer)
        let call = HandleTable.shared.insert(
            CallContext(deadline: 0), owner: instance.owner.number)
        defer { HandleTable.shared.remove(call) }
        guard (try? instance.perform(hook) { body($0, outlet_call(id: call)) }) != nil else {
            return
        }
        stopwatch.report(
            instance.owner, hook, requestID: request.attributes["request.id"], effects: { [] },
            failure: nil)
    }
}
