import Dispatch
import FoundationEssentials
import Glibc
import OutletTestSupport
import Testing

@testable import OutletPluginCheck

@Suite struct RunningTestsTests {
    @Test func `the end of the program waits for a directory that is being removed`() async throws {
        try await #require(processExitsWith: .success) {
            let files = FileManager.default
            let name = "outlet-test-\(UUID().uuidString)"
            let directory = files.temporaryDirectory.appending(path: name)
            guard RunningTests.makeDirectory(directory) == 0 else { exit(1) }
            for number in 0..<5000 {
                let path = directory.appending(path: String(number)).path
                guard files.createFile(atPath: path, contents: nil) else { exit(2) }
            }
            let entries = { try? files.contentsOfDirectory(atPath: directory.path) }
            let deadline = ContinuousClock.now + .seconds(60)
            DispatchQueue.global().async { RunningTests.removeDirectory(directory) }
            while entries()?.count == 5000 {
                guard .now < deadline else { exit(3) }
            }
            RunningTests.endAll()
            guard !files.fileExists(atPath: directory.path) else { exit(4) }
        }
    }
}
