import OutletPluginHost

extension PluginRule {
    /// How a plugin's author can correct a violation.
    var advice: String {
        switch self {
        case .fileSafe: "chmod go-w the file and its directories; name libraries by $ORIGIN"
        case .fileLibrary: "link it with -shared, for this processor, and copy it whole"
        case .fileEntry: "use OUTLET_MODULE, or export outlet_module_v1"
        case .fileSymbols:
            "link it with the flags of outlet-plugin.pc: --version-script=exports.map"
        case .manifestPresent:
            "add OUTLET_MANIFEST in C, manifest.sh's file in Swift, in other languages the section "
                + ".outlet.manifest with objcopy"
        case .manifestValid:
            "let OUTLET_MANIFEST in C or manifest.sh in Swift make it; with objcopy, add an object "
                + "with id, version, abi and permissions"
        case .manifestAgrees: "make the manifest and the descriptor say the same"
        case .loadLinks: "link it with -Wl,-z,defs to learn of it earlier"
        case .loadQuick: "put the work off until create"
        case .entrySame: "return a pointer to one static module"
        case .entryMinor: "compare host_minor with >=, and set min_host_minor to what is needed"
        case .entryModule: "fill all required fields as the header says"
        case .exportSignature: "write the signature from the C declaration: result, then arguments"
        case .createStarts: "configure it: --plugin-config ID=JSON"
        case .createInstance: "set *out before returning OUTLET_OK"
        case .createReason: "call host->fail before returning a negative status"
        case .createApart: "keep state in the instance, or set OUTLET_F_PER_PROCESS"
        case .configAny: "check kinds and sizes before using a setting"
        case .configSchema: "correct the schema as the message says, or leave it out"
        case .destroyFrees: "free, close and join in quiesce and destroy"
        case .callReason: "call host->fail, or pass a message to done"
        case .callFrees: "free what a call made when it ends"
        case .callNonblocking:
            "leave OUTLET_F_NONBLOCKING out, or answer OUTLET_PENDING and work on another thread"
        case .callReturns:
            "wait for nothing that may never come; answer OUTLET_PENDING and settle later"
        case .settleOnce: "settle on one path only; after OUTLET_PENDING from one place only"
        case .settleInTime:
            "settle on every path, failures included; give a hook that needs longer more time by "
                + "--timeout"
        case .valueKnown:
            "return OUTLET_OK, OUTLET_PENDING where it is allowed, or a negative status; pass UTF-8, "
                + "and bodies and values that are what you say of them; if the host refuses a "
                + "change, fail with a reason"
        case .handleLate: "copy what is wanted later; use no handle after settling or returning"
        case .viewLate:
            "copy the bytes of a view into memory of your own before the hook, create or reconfigure "
                + "returns, or the completion is settled"
        case .handleOwn: "pass the host table and the handles on as they came"
        case .handleThread: "read what the thread needs in the hook, and pass it a copy"
        case .endInTime: "join threads in quiesce, and settle what is pending"
        case .endAsked: "call quiesced once, and only where quiesce returns OUTLET_PENDING"
        case .noCrash:
            "run it under a debugger or a sanitizer with this seed; catch exceptions at the boundary"
        case .noExit: "return a failure instead; let exit handlers and destructors return"
        case .noFork: "use posix_spawn"
        case .noOutput: "use host->log"
        case .stateProcess: "leave it alone: other code of the process relies on it"
        case .stateThread: "put it back before returning"
        }
    }
}
