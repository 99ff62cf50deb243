import Glibc
import Testing

@testable import OutletPluginHost

/// The owners and modes with which a file is trusted, tested without files.
@Suite struct FileTrustTests {
    private func objection(
        user: uid_t, mode: mode_t, allowsWriting: Bool = false
    ) -> String? {
        var status = stat()
        status.st_uid = user
        status.st_mode = mode
        let objection = FileTrust.objection(to: status, allowsWriting: allowsWriting)
        if let objection {
            let isOthers = user != 0 && user != geteuid()
            #expect(objection.after("it ").cause == (isOthers ? .owner : .other))
        }
        return objection?.description
    }

    @Test func `files of root and of the current user are trusted, files of other users are not`() {
        for user in [0, geteuid()] { #expect(objection(user: user, mode: 0o755) == nil) }
        let other = geteuid() + 1
        for allowsWriting in [false, true] {
            #expect(
                objection(user: other, mode: 0o755, allowsWriting: allowsWriting)
                    == "belongs to user \(other), neither root nor user \(geteuid())")
        }
    }

    @Test(arguments: [
        (mode_t(0o775), "its group (mode 775)"), (0o757, "all users (mode 757)"),
        (0o1777, "all users (mode 1777)"),
    ])
    func `files that others can write are not trusted, unless that is allowed`(
        mode: mode_t, who: String
    ) {
        #expect(objection(user: 0, mode: mode) == "is writable by \(who); chmod go-w")
        #expect(objection(user: 0, mode: mode, allowsWriting: true) == nil)
    }
}
