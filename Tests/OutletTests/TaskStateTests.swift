import FoundationEssentials
import Outlet
import OutletTestServer
import OutletTestSupport
import Testing

@Suite(.timeLimit(.minutes(patience))) struct TaskStateTests {
    @Test func `a task reports the state of its transfer`() async throws {
        let server = try LoopbackServer.start()
        let session = Session()
        let request = session.request("\(server.baseURL)/delay/3600")
        async let response = request.serializingData().response
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        let task = try #require(request.task)
        #expect(task.state == .running && task.currentRequest?.url?.path == "/delay/3600")
        request.suspend()
        #expect(task.state == .suspended)
        request.resume()
        #expect(task.state == .running)
        request.cancel()
        #expect(task.state == .canceling || task.state == .completed)
        #expect(await response.error?.isExplicitlyCancelledError == true)
        #expect(task.state == .completed)
    }

    @Test func `an eager request is sent once after resume`() async throws {
        let server = try LoopbackServer.start()
        let session = Session(startRequestsImmediately: false, requestSetup: .eager)
        let request = session.request("\(server.baseURL)/get")
        while request.task == nil, !Task.isCancelled { await Task.yield() }
        #expect(request.task?.state == .suspended && request.allMetrics.isEmpty)
        #expect(await request.resume().serializingData().response.response?.statusCode == 200)
        #expect(request.tasks.count == 1 && request.task?.state == .completed)
    }
}
