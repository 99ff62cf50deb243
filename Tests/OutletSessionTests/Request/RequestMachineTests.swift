import Testing

@testable import OutletSession

@Suite struct RequestMachineTests {
    @Test func `a request goes from its set-up to its end`() {
        var machine = RequestMachine()
        #expect(machine.resume() == .setUp(attempt: 1))
        #expect(machine.didSetUp(attempt: 1) == .startTransfer)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginFinishing() == true)
        machine.didFinish()
        #expect(machine.state == .finished)
    }

    @Test func `asking again for what is so already changes nothing`() {
        var machine = RequestMachine()
        #expect(machine.resume() != nil)
        #expect(machine.resume() == nil)
        #expect(machine.suspend() != nil)
        #expect(machine.suspend() == nil)
        #expect(machine.cancel() != nil)
        #expect(machine.cancel() == nil)
        #expect(machine.resume() == nil)
    }

    @Test func `a request that is suspended while it is set up waits until it is resumed`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.suspend() == .nothing)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.resume() == .startTransfer)
    }

    @Test func `a cancel during the set-up finishes at once and drops the late answer`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.cancel() == .finish)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
    }

    @Test func `a cancel during the transfer waits for the transfer's end`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        #expect(machine.cancel() == .cancelTransfer)
        #expect(machine.beginEvaluating(attempt: 1) == true)
        #expect(machine.beginFinishing() == true)
        machine.didFinish()
        #expect(machine.state == .cancelled)
    }

    @Test func `a retry starts over once its time has come, and counts`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.willRetry(attempt: 1) == true)
        #expect(machine.willRetry(attempt: 1) == false)
        #expect(machine.retryNow(attempt: 1) == .setUp(attempt: 2))
        #expect(machine.retryCount == 1)
        #expect(machine.didSetUp(attempt: 1) == .nothing)
        #expect(machine.didSetUp(attempt: 2) == .startTransfer)
    }

    @Test func `a cancelled request is not retried`() {
        var machine = RequestMachine()
        _ = machine.resume()
        _ = machine.didSetUp(attempt: 1)
        _ = machine.beginEvaluating(attempt: 1)
        #expect(machine.cancel() == .finish)
        #expect(machine.willRetry(attempt: 1) == false)
    }

    @Test func `only one caller finishes the request`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.beginFinishing() == true)
        #expect(machine.beginFinishing() == false)
    }

    @Test func `a finished request opens again for another handler`() {
        var machine = RequestMachine()
        _ = machine.resume()
        #expect(machine.reopen() == false)
        _ = machine.beginFinishing()
        machine.didFinish()
        #expect(machine.reopen() == true)
        #expect(machine.state == .resumed)
        machine.didFinish()
        #expect(machine.state == .finished)
    }
}
