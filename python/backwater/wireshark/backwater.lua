-- Dissectors for congestion management in Ethernet, which Wireshark and tshark (4.0 or later) lack:
--
--   CNM, CN-TAG        IEEE 802.1Q clause 33 (802.1Qau)
--   CIM                IEEE 802.1Qcz-2023 clause 49: layer 2, layer 3; one in the format of a CNM is shown as a CNM
--   SFCM               IEEE P802.1Qdw (draft, without a published encoding: that of Backwater)
--   SFC pause          Source Flow Control as it is shipped in Tofino 2 (p4lang/open-p4studio, 2025)
--   BCN, RLT tag       Bergamasco, 2005 to 2007 (published fields in Backwater's encoding)
--   LLDP CI TLV        IEEE 802.1Q annex D.2.15 (the width of the address family is Backwater's)
--   UET                Ultra Ethernet: RUD request, ACK, NACK, control packet; only if Wireshark (before 4.6) has no dissector of its own
--
-- Offsets and names are those of the crate backwater-wire, whose documentation names those that are uncertain. To use it once:
-- tshark -X lua_script:backwater.lua -r FILE. To install it: copy it to Wireshark's folder of personal Lua plugins (Help > About > Folders).
--
-- SPDX-License-Identifier: MIT OR Apache-2.0

-- An installed script that is also named on the command line is loaded twice. Only `_G` is common to both.
if _G.backwater_dissector then return end
_G.backwater_dissector = true

local ethertypes = DissectorTable.get("ethertype")
local udp_ports = DissectorTable.get("udp.port")

-- The flow of a packet that a message encapsulates. The protocol only has fields, and no dissector.
local flow = Proto("encapsulated_flow", "Flow of an encapsulated packet")
local flow_fields = {
    ip_src = ProtoField.ipv4("encapsulated_flow.ip.src", "Source address"),
    ip_dst = ProtoField.ipv4("encapsulated_flow.ip.dst", "Destination address"),
    ip6_src = ProtoField.ipv6("encapsulated_flow.ipv6.src", "Source address"),
    ip6_dst = ProtoField.ipv6("encapsulated_flow.ipv6.dst", "Destination address"),
    src_port = ProtoField.uint16("encapsulated_flow.srcport", "Source port"),
    dst_port = ProtoField.uint16("encapsulated_flow.dstport", "Destination port"),
}
flow.fields = flow_fields

-- Adds the ports, which follow a header of `at` octets in TCP and UDP.
local function add_ports(tree, packet, protocol, at)
    if (protocol == 6 or protocol == 17) and packet:len() >= at + 4 then
        tree:add(flow_fields.src_port, packet(at, 2))
        tree:add(flow_fields.dst_port, packet(at + 2, 2))
    end
end

-- Adds the flow of a packet; `packet`: its first octets, from its IP header on.
local function add_flow(tree, packet)
    local has = packet:len()
    if has < 20 then return end
    local version = packet(0, 1):bitfield(0, 4)
    if version == 4 then
        tree:add(flow_fields.ip_src, packet(12, 4))
        tree:add(flow_fields.ip_dst, packet(16, 4))
        add_ports(tree, packet, packet(9, 1):uint(), packet(0, 1):bitfield(4, 4) * 4)
    elseif version == 6 and has >= 40 then
        tree:add(flow_fields.ip6_src, packet(8, 16))
        tree:add(flow_fields.ip6_dst, packet(24, 16))
        add_ports(tree, packet, packet(6, 1):uint(), 40)
    end
end

-- Adds the flow of a packet; `msdu`: its first octets, from its EtherType on.
local function add_flow_of_msdu(tree, msdu)
    if msdu:len() <= 2 then return end
    local kind = msdu(0, 2):uint()
    if kind == 0x0800 or kind == 0x86dd then
        add_flow(tree, msdu(2))
    end
end

-- Errors of messages, under the name of a protocol.
local function experts(name)
    return {
        short = ProtoExpert.new(name .. ".short", "The message ends too early", expert.group.MALFORMED, expert.severity.ERROR),
        cut = ProtoExpert.new(name .. ".cut", "The capture has cut the message off", expert.group.UNDECODED, expert.severity.NOTE),
        value = ProtoExpert.new(name .. ".value", "A field has an invalid value", expert.group.MALFORMED, expert.severity.ERROR),
    }
end

-- Returns whether `needs` octets were captured. If not, marks in the tree whether the frame or the capture ends too early.
local function enough(tree, wrong, tvb, needs)
    if tvb:captured_len() >= needs then return true end
    tree:add_proto_expert_info(tvb:reported_len() >= needs and wrong.cut or wrong.short)
    return false
end

-- Any protocol may use ports of the dynamic range and the experimental EtherType. So a dissector declines what does not begin like its
-- message: it returns 0, and Wireshark tries others. `begins` checks `octets` octets from `at` on, if they were captured.
local DECLINED = 0
local function begins(tvb, at, octets, holds)
    return tvb:captured_len() < at + octets or holds(tvb(at, octets))
end

-- Adds the `length` octets that a message encapsulates from `at` on, as far as they were captured; returns nil for none. `most`: the
-- greatest length in the format.
local function encapsulated(tree, wrong, field, tvb, at, length, most)
    if length > most then
        tree:add_proto_expert_info(wrong.value, "Encapsulated length " .. length .. " is above " .. most)
        return nil
    end
    enough(tree, wrong, tvb, at + length)
    local has = math.min(length, tvb:captured_len() - at)
    if has <= 0 then return nil end
    return tree:add(field, tvb(at, has)), tvb(at, has)
end

-- Dissects what follows a tag, from `at` on, with its EtherType before. Wireshark has already marked a malformed packet when the error
-- reaches this script, which did not cause it and drops it. Lua can pass on only the captured length, so that a packet that the capture
-- has cut off would look malformed: only its flow is shown.
local function dissect_rest(tree, wrong, tvb, at, pinfo, root)
    if tvb:reported_len() > tvb:captured_len() then
        add_flow_of_msdu(tree, tvb(at - 2))
        tree:add_proto_expert_info(wrong.cut)
    elseif tvb:captured_len() > at then
        pcall(ethertypes.try, ethertypes, tvb(at - 2, 2):uint(), tvb(at):tvb(), pinfo, root)
    end
end

-- CN-TAG ---------------------------------------------------------------------------------------------------------------

local cntag = Proto("cntag", "Congestion Notification Tag (IEEE 802.1Q)")
local cntag_fields = {
    flow = ProtoField.uint16("cntag.flow", "Flow identifier", base.DEC),
    type = ProtoField.uint16("cntag.type", "Type", base.HEX),
}
local cntag_wrong = experts("cntag")
cntag.fields, cntag.experts = cntag_fields, cntag_wrong

function cntag.dissector(tvb, pinfo, root)
    local tree = root:add(cntag, tvb(0, math.min(4, tvb:captured_len())))
    if not enough(tree, cntag_wrong, tvb, 4) then return end
    tree:add(cntag_fields.flow, tvb(0, 2))
    tree:add(cntag_fields.type, tvb(2, 2))
    tree:append_text(", flow " .. tvb(0, 2):uint())
    dissect_rest(tree, cntag_wrong, tvb, 4, pinfo, root)
end

-- CNM ------------------------------------------------------------------------------------------------------------------

local cnm = Proto("cnm", "Congestion Notification Message (IEEE 802.1Q)")
local cnm_fields = {
    version = ProtoField.uint16("cnm.version", "Version", base.DEC, nil, 0xf000),
    reserved_v = ProtoField.uint16("cnm.reserved_v", "ReservedV", base.HEX, nil, 0x0fc0),
    feedback = ProtoField.uint16("cnm.feedback", "Quantized feedback", base.DEC, nil, 0x003f),
    cpid = ProtoField.bytes("cnm.cpid", "Congestion point identifier", base.COLON),
    q_offset = ProtoField.int16("cnm.q_offset", "cnmQOffset (64 octets)", base.DEC),
    q_delta = ProtoField.int16("cnm.q_delta", "cnmQDelta (64 octets)", base.DEC),
    priority = ProtoField.uint16("cnm.priority", "Encapsulated priority", base.DEC, nil, 0xe000),
    reserved = ProtoField.uint16("cnm.reserved", "Reserved", base.HEX, nil, 0x1fff),
    destination = ProtoField.ether("cnm.destination", "Encapsulated destination address"),
    length = ProtoField.uint16("cnm.length", "Encapsulated MSDU length", base.DEC),
    msdu = ProtoField.bytes("cnm.msdu", "Encapsulated MSDU"),
}
local cnm_wrong = experts("cnm")
cnm.fields, cnm.experts = cnm_fields, cnm_wrong

function cnm.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "CNM"
    local tree = root:add(cnm, tvb())
    if not enough(tree, cnm_wrong, tvb, 24) then return end
    tree:add(cnm_fields.version, tvb(0, 2))
    tree:add(cnm_fields.reserved_v, tvb(0, 2))
    tree:add(cnm_fields.feedback, tvb(0, 2))
    tree:add(cnm_fields.cpid, tvb(2, 8))
    tree:add(cnm_fields.q_offset, tvb(10, 2))
    tree:add(cnm_fields.q_delta, tvb(12, 2))
    tree:add(cnm_fields.priority, tvb(14, 2))
    tree:add(cnm_fields.reserved, tvb(14, 2))
    tree:add(cnm_fields.destination, tvb(16, 6))
    tree:add(cnm_fields.length, tvb(22, 2))
    local item, msdu = encapsulated(tree, cnm_wrong, cnm_fields.msdu, tvb, 24, tvb(22, 2):uint(), 64)
    if item then add_flow_of_msdu(item, msdu) end
    pinfo.cols.info = string.format("Congestion notification, feedback %d, offset %d, delta %d",
        tvb(0, 2):bitfield(10, 6), tvb(10, 2):int(), tvb(12, 2):int())
end

-- CIM ------------------------------------------------------------------------------------------------------------------

local cim = Proto("cim", "Congestion Isolation Message (IEEE 802.1Qcz)")
local CIM_ETHERTYPE = 0x89a2
cim.prefs.port = Pref.uint("UDP port", 61186, "Port of layer 3 messages, which peers announce by LLDP")
local cim_fields = {
    version = ProtoField.uint16("cim.version", "Version (uncertain)", base.DEC, nil, 0xf000),
    delete = ProtoField.bool("cim.delete", "Delete (uncertain)", 16, nil, 0x0800),
    reserved = ProtoField.uint16("cim.reserved", "Reserved (uncertain)", base.HEX, nil, 0x07ff),
    destination = ProtoField.ether("cim.destination", "Destination address of the flow"),
    source = ProtoField.ether("cim.source", "Source address of the flow"),
    beside_vid = ProtoField.uint16("cim.beside_vid", "Bits beside the VID (uncertain, 0)", base.HEX, nil, 0xf000),
    vid = ProtoField.uint16("cim.vid", "VID of the flow", base.DEC, nil, 0x0fff),
    length = ProtoField.uint16("cim.length", "Encapsulated MSDU length", base.DEC),
    msdu = ProtoField.bytes("cim.msdu", "Encapsulated MSDU"),
}
local cim_wrong = experts("cim")
cim.fields, cim.experts = cim_fields, cim_wrong

-- A message in a datagram has version 0, an individual source address, and a valid length.
local function like_cim(tvb)
    return begins(tvb, 0, 1, function(octet) return octet:bitfield(0, 4) == 0 end)
        and begins(tvb, 8, 1, function(octet) return octet:bitfield(7, 1) == 0 end)
        and begins(tvb, 16, 2, function(length) return length:uint() <= 512 end)
end

function cim.dissector(tvb, pinfo, root)
    if pinfo.match_uint ~= CIM_ETHERTYPE and not like_cim(tvb) then return DECLINED end
    pinfo.cols.protocol = "CIM"
    local tree = root:add(cim, tvb())
    if not enough(tree, cim_wrong, tvb, 18) then return end
    tree:add(cim_fields.version, tvb(0, 2))
    tree:add(cim_fields.delete, tvb(0, 2))
    tree:add(cim_fields.reserved, tvb(0, 2))
    tree:add(cim_fields.destination, tvb(2, 6))
    tree:add(cim_fields.source, tvb(8, 6))
    tree:add(cim_fields.beside_vid, tvb(14, 2))
    tree:add(cim_fields.vid, tvb(14, 2))
    tree:add(cim_fields.length, tvb(16, 2))
    local item, msdu = encapsulated(tree, cim_wrong, cim_fields.msdu, tvb, 18, tvb(16, 2):uint(), 512)
    if item then add_flow_of_msdu(item, msdu) end
    local what = tvb(0, 2):bitfield(4, 1) == 1 and "no longer isolate" or "isolate"
    pinfo.cols.info = string.format("Congestion isolation: %s %s > %s", what, tostring(tvb(8, 6):ether()), tostring(tvb(2, 6):ether()))
end

-- SFCM -----------------------------------------------------------------------------------------------------------------

local sfcm = Proto("sfcm", "Source Flow Control Message (IEEE P802.1Qdw, Backwater's encoding)")
sfcm.prefs.port = Pref.uint("UDP port", 61185, "Destination port of messages")
local sfcm_fields = {
    version = ProtoField.uint8("sfcm.version", "Version", base.DEC, nil, 0xf0),
    type = ProtoField.uint8("sfcm.type", "Type", base.DEC, { [0] = "Pause", [1] = "Resume" }, 0x0f),
    class_mode = ProtoField.bool("sfcm.class_mode", "Stop the traffic class", 8, nil, 0x80),
    flow_mode = ProtoField.bool("sfcm.flow_mode", "Stop the flow", 8, nil, 0x40),
    by_proxy = ProtoField.bool("sfcm.by_proxy", "Made by a proxy", 8, nil, 0x20),
    reserved_flags = ProtoField.uint8("sfcm.reserved_flags", "Reserved", base.HEX, nil, 0x1f),
    dscp = ProtoField.uint8("sfcm.dscp", "DSCP of the packet", base.DEC, nil, 0xfc),
    ecn = ProtoField.uint8("sfcm.ecn", "ECN field of the packet", base.DEC, nil, 0x03),
    priority = ProtoField.uint8("sfcm.priority", "Priority of the packet", base.DEC, nil, 0xe0),
    reserved = ProtoField.uint8("sfcm.reserved", "Reserved", base.HEX, nil, 0x1f),
    pause_time = ProtoField.uint32("sfcm.pause_time", "Pause time (ns)", base.DEC),
    depth = ProtoField.uint32("sfcm.depth", "Queue depth (64 octets)", base.DEC),
    cpid = ProtoField.bytes("sfcm.cpid", "Congestion point identifier", base.COLON),
    length = ProtoField.uint16("sfcm.length", "Encapsulated length", base.DEC),
    packet = ProtoField.bytes("sfcm.packet", "Encapsulated packet"),
}
local sfcm_wrong = experts("sfcm")
sfcm.fields, sfcm.experts = sfcm_fields, sfcm_wrong

local function like_sfcm(tvb)
    return begins(tvb, 0, 1, function(octet) return octet:bitfield(0, 4) == 1 and octet:bitfield(4, 4) <= 1 end)
end

function sfcm.dissector(tvb, pinfo, root)
    if not like_sfcm(tvb) then return DECLINED end
    pinfo.cols.protocol = "SFCM"
    local tree = root:add(sfcm, tvb())
    if not enough(tree, sfcm_wrong, tvb, 22) then return end
    tree:add(sfcm_fields.version, tvb(0, 1))
    local kind = tree:add(sfcm_fields.type, tvb(0, 1))
    local mode = tree:add(sfcm_fields.class_mode, tvb(1, 1))
    tree:add(sfcm_fields.flow_mode, tvb(1, 1))
    tree:add(sfcm_fields.by_proxy, tvb(1, 1))
    tree:add(sfcm_fields.reserved_flags, tvb(1, 1))
    tree:add(sfcm_fields.dscp, tvb(2, 1))
    tree:add(sfcm_fields.ecn, tvb(2, 1))
    tree:add(sfcm_fields.priority, tvb(3, 1))
    tree:add(sfcm_fields.reserved, tvb(3, 1))
    tree:add(sfcm_fields.pause_time, tvb(4, 4))
    tree:add(sfcm_fields.depth, tvb(8, 4))
    tree:add(sfcm_fields.cpid, tvb(12, 8))
    tree:add(sfcm_fields.length, tvb(20, 2))
    local pause = tvb(4, 4):uint()
    if tvb(0, 1):bitfield(4, 4) ~= (pause == 0 and 1 or 0) then
        kind:add_proto_expert_info(sfcm_wrong.value, "The type is 0 with a pause time, 1 without")
    end
    if tvb(1, 1):bitfield(0, 2) == 3 then
        mode:add_proto_expert_info(sfcm_wrong.value, "Class and flow exclude each other")
    end
    local item, packet = encapsulated(tree, sfcm_wrong, sfcm_fields.packet, tvb, 22, tvb(20, 2):uint(), 65535)
    if item then add_flow(item, packet) end
    pinfo.cols.info = pause == 0 and "Source flow control: resume"
        or string.format("Source flow control: pause for %d ns", pause)
end

-- SFC pause of Tofino 2 ------------------------------------------------------------------------------------------------

local SFC_PAUSE_PORT = 1674
local sfc_pause = Proto("sfc_pause", "Source Flow Control Pause (Tofino 2)")
local sfc_pause_fields = {
    version = ProtoField.uint8("sfc_pause.version", "Version", base.DEC),
    dscp = ProtoField.uint8("sfc_pause.dscp", "DSCP of the packet", base.DEC),
    duration = ProtoField.uint16("sfc_pause.duration", "Duration (us)", base.DEC),
}
local sfc_pause_wrong = experts("sfc_pause")
sfc_pause.fields, sfc_pause.experts = sfc_pause_fields, sfc_pause_wrong

function sfc_pause.dissector(tvb, pinfo, root)
    local zero = begins(tvb, 0, 1, function(octet) return octet:uint() == 0 end)
    if not zero or not begins(tvb, 1, 1, function(octet) return octet:uint() <= 63 end) then return DECLINED end
    pinfo.cols.protocol = "SFC"
    local tree = root:add(sfc_pause, tvb(0, math.min(18, tvb:captured_len())))
    if not enough(tree, sfc_pause_wrong, tvb, 18) then return end
    tree:add(sfc_pause_fields.version, tvb(0, 1))
    tree:add(sfc_pause_fields.dscp, tvb(1, 1))
    tree:add(sfc_pause_fields.duration, tvb(2, 2))
    pinfo.cols.info = string.format("Source flow control: pause DSCP %d for %d us", tvb(1, 1):uint(), tvb(2, 2):uint())
end

-- BCN ------------------------------------------------------------------------------------------------------------------

local bcn = Proto("bcn", "Backward Congestion Notification (Backwater's encoding)")
bcn.prefs.ethertype = Pref.uint("EtherType", 0x88b5, "EtherType of messages; 34997 is 0x88B5, local experimental 1")
local bcn_fields = {
    subtype = ProtoField.uint8("bcn.subtype", "Subtype", base.DEC),
    version = ProtoField.uint8("bcn.version", "Version", base.DEC, nil, 0xf0),
    mild = ProtoField.bool("bcn.mild", "Mild congestion", 8, nil, 0x08),
    severe = ProtoField.bool("bcn.severe", "Severe congestion", 8, nil, 0x04),
    reserved = ProtoField.uint8("bcn.reserved", "Reserved", base.HEX, nil, 0x03),
    cpid = ProtoField.bytes("bcn.cpid", "Congestion point identifier", base.COLON),
    q_off = ProtoField.int16("bcn.q_off", "Qoff (64 octets)", base.DEC),
    q_delta = ProtoField.int16("bcn.q_delta", "Qdelta (64 octets)", base.DEC),
    length = ProtoField.uint16("bcn.length", "Encapsulated length", base.DEC),
    frame = ProtoField.bytes("bcn.frame", "Encapsulated frame"),
}
local bcn_wrong = experts("bcn")
bcn.fields, bcn.experts = bcn_fields, bcn_wrong

local function like_bcn(tvb)
    return begins(tvb, 0, 1, function(octet) return octet:uint() == 1 end)
        and begins(tvb, 1, 1, function(octet) return octet:bitfield(0, 4) == 0 end)
end

function bcn.dissector(tvb, pinfo, root)
    if not like_bcn(tvb) then return DECLINED end
    pinfo.cols.protocol = "BCN"
    local tree = root:add(bcn, tvb())
    if not enough(tree, bcn_wrong, tvb, 16) then return end
    tree:add(bcn_fields.subtype, tvb(0, 1))
    tree:add(bcn_fields.version, tvb(1, 1))
    tree:add(bcn_fields.mild, tvb(1, 1))
    tree:add(bcn_fields.severe, tvb(1, 1))
    tree:add(bcn_fields.reserved, tvb(1, 1))
    tree:add(bcn_fields.cpid, tvb(2, 8))
    tree:add(bcn_fields.q_off, tvb(10, 2))
    tree:add(bcn_fields.q_delta, tvb(12, 2))
    tree:add(bcn_fields.length, tvb(14, 2))
    local item, frame = encapsulated(tree, bcn_wrong, bcn_fields.frame, tvb, 16, tvb(14, 2):uint(), 64)
    if item and frame:len() > 12 then add_flow_of_msdu(item, frame(12)) end
    pinfo.cols.info = string.format("Backward congestion notification, Qoff %d, Qdelta %d", tvb(10, 2):int(), tvb(12, 2):int())
end

-- Rate-limited tag -----------------------------------------------------------------------------------------------------

local rlt = Proto("bcn_rlt", "Rate-Limited Tag (BCN data frame tag)")
local rlt_fields = {
    version = ProtoField.uint16("bcn_rlt.version", "Version", base.DEC, nil, 0xf000),
    reserved = ProtoField.uint16("bcn_rlt.reserved", "Reserved", base.HEX, nil, 0x0fff),
    cpid = ProtoField.bytes("bcn_rlt.cpid", "Congestion point identifier", base.COLON),
    type = ProtoField.uint16("bcn_rlt.type", "Type", base.HEX),
}
local rlt_wrong = experts("bcn_rlt")
rlt.fields, rlt.experts = rlt_fields, rlt_wrong

function rlt.dissector(tvb, pinfo, root)
    local tree = root:add(rlt, tvb(0, math.min(12, tvb:captured_len())))
    if not enough(tree, rlt_wrong, tvb, 12) then return end
    local version = tree:add(rlt_fields.version, tvb(0, 2))
    if tvb(0, 2):bitfield(0, 4) ~= 0 then
        version:add_proto_expert_info(rlt_wrong.value, "The version is not 0")
    end
    tree:add(rlt_fields.reserved, tvb(0, 2))
    tree:add(rlt_fields.cpid, tvb(2, 8))
    tree:add(rlt_fields.type, tvb(10, 2))
    dissect_rest(tree, rlt_wrong, tvb, 12, pinfo, root)
end

-- LLDP CI TLV ----------------------------------------------------------------------------------------------------------

-- Wireshark names the TLV, but does not decode it. Its own dissector runs first. Then this one visits the TLVs again.
local lldp_ci = Proto("lldp_ci", "LLDP Congestion Isolation TLV (IEEE 802.1Q)")
local lldp_ci_fields = {
    queue_map = ProtoField.int8("lldp_ci.queue_map", "Queue map", base.DEC),
    encapsulated = ProtoField.uint16("lldp_ci.encapsulated", "CIM encapsulation length", base.DEC),
    mac = ProtoField.ether("lldp_ci.mac", "MAC address"),
    udp_port = ProtoField.uint16("lldp_ci.udp_port", "UDP port", base.DEC),
    family = ProtoField.uint8("lldp_ci.family", "Address family", base.DEC, { [0] = "None", [1] = "IPv4", [2] = "IPv6" }),
    ipv4 = ProtoField.ipv4("lldp_ci.ipv4", "Address"),
    ipv6 = ProtoField.ipv6("lldp_ci.ipv6", "Address"),
}
local lldp_ci_wrong = experts("lldp_ci")
lldp_ci.fields, lldp_ci.experts = lldp_ci_fields, lldp_ci_wrong

local lldp = ethertypes:get_dissector(0x88cc)
local ADDRESS_LENGTHS = { [0] = 0, [1] = 4, [2] = 16 }

-- Dissects the TLV; `information`: the octets after the subtype.
local function dissect_ci(information, tree)
    if not enough(tree, lldp_ci_wrong, information, 19) then return end
    for priority = 0, 7 do
        local item = tree:add(lldp_ci_fields.queue_map, information(priority, 1))
        local k = information(priority, 1):int()
        local what = k == 0 and "does not take part"
            or (k > 0 and "monitored" or "congesting") .. ", traffic class " .. (math.abs(k) - 1)
        item:set_text("Priority " .. priority .. ": " .. k .. " (" .. what .. ")")
    end
    local encapsulation = tree:add(lldp_ci_fields.encapsulated, information(8, 2))
    if information(8, 2):uint() > 512 then
        encapsulation:add_proto_expert_info(lldp_ci_wrong.value, "The CIM encapsulation length is above 512")
    end
    tree:add(lldp_ci_fields.mac, information(10, 6))
    tree:add(lldp_ci_fields.udp_port, information(16, 2))
    local family = tree:add(lldp_ci_fields.family, information(18, 1))
    local kind = information(18, 1):uint()
    if ADDRESS_LENGTHS[kind] ~= information:captured_len() - 19 then
        family:add_proto_expert_info(lldp_ci_wrong.value, "Family and length of the address do not agree")
    elseif kind == 1 then
        tree:add(lldp_ci_fields.ipv4, information(19, 4))
    elseif kind == 2 then
        tree:add(lldp_ci_fields.ipv6, information(19, 16))
    end
end

function lldp_ci.dissector(tvb, pinfo, root)
    if tvb:captured_len() == 0 then return end
    -- Wireshark's dissector shortens the buffer, and by too much if it does not know a TLV.
    local whole = tvb():tvb()
    if lldp then pcall(lldp.call, lldp, tvb, pinfo, root) end
    local at = 0
    while at + 2 <= whole:captured_len() do
        local kind, length = whole(at, 2):bitfield(0, 7), whole(at, 2):bitfield(7, 9)
        if kind == 0 or at + 2 + length > whole:captured_len() then return end
        if kind == 127 and length >= 4 and whole(at + 2, 4):uint() == 0x0080c213 then
            local tree = root:add(lldp_ci, whole(at, 2 + length))
            if length > 4 then
                dissect_ci(whole(at + 6, length - 4):tvb(), tree)
            else
                tree:add_proto_expert_info(lldp_ci_wrong.short)
            end
        end
        at = at + 2 + length
    end
end

-- UET ------------------------------------------------------------------------------------------------------------------

local uet = Proto("uet_pds", "Ultra Ethernet Transport, packet delivery")
local UET_PORT = 4793
local UET_TYPES = { [2] = "RUD request", [7] = "ACK", [8] = "ACK_CC", [10] = "NACK", [11] = "Control packet", [13] = "RUD request with CC state" }
local UET_LENGTHS = { [2] = 12, [7] = 12, [8] = 32, [10] = 16, [11] = 16, [13] = 16 }
local UET_CONTROLS = {
    [0] = "No operation", [1] = "ACK request", [2] = "Clear", [3] = "Clear request", [4] = "Close", [5] = "Close request",
    [6] = "Probe", [7] = "Credit", [8] = "Credit request", [9] = "Negotiation",
}
local UET_CODES = { [1] = "Trimmed", [2] = "Trimmed at the last hop", [26] = "The destination infers a loss" }
local uet_fields = {
    type = ProtoField.uint16("uet_pds.type", "Type", base.DEC, UET_TYPES, 0xf800),
    next = ProtoField.uint16("uet_pds.next", "Next header", base.DEC, nil, 0x0780),
    control = ProtoField.uint16("uet_pds.control", "Control packet", base.DEC, UET_CONTROLS, 0x0780),
    marked = ProtoField.bool("uet_pds.marked", "ECN-marked", 16, nil, 0x0020),
    again = ProtoField.bool("uet_pds.retransmitted", "Retransmitted", 16, nil, 0x0010),
    ack_request = ProtoField.bool("uet_pds.ack_request", "ACK request", 16, nil, 0x0008),
    probe = ProtoField.bool("uet_pds.probe", "Answers a probe", 16, nil, 0x0008),
    nack_type = ProtoField.bool("uet_pds.nack_type", "NACK type (RUDI)", 16, nil, 0x0008),
    syn = ProtoField.bool("uet_pds.syn", "SYN", 16, nil, 0x0004),
    request = ProtoField.uint16("uet_pds.request", "Request", base.DEC, { [0] = "None", [1] = "Clear", [2] = "Close" }, 0x0006),
    psn = ProtoField.uint32("uet_pds.psn", "PSN", base.DEC),
    clear = ProtoField.int16("uet_pds.clear_psn_offset", "Clear PSN, relative to the PSN", base.DEC),
    offset = ProtoField.int16("uet_pds.ack_psn_offset", "Acknowledged PSN, relative to the cumulative one", base.DEC),
    cumulative = ProtoField.uint32("uet_pds.cumulative_psn", "Cumulative PSN", base.DEC),
    source = ProtoField.uint16("uet_pds.source_pdc", "Source PDC identifier", base.DEC),
    destination = ProtoField.uint16("uet_pds.destination_pdc", "Destination PDC identifier", base.DEC),
    ccc = ProtoField.uint8("uet_pds.ccc", "CCC identifier", base.DEC),
    target = ProtoField.uint24("uet_pds.credit_target", "Credit target (256 octets)", base.DEC),
    cc_type = ProtoField.uint8("uet_pds.cc_type", "Type of CC state", base.DEC, { [0] = "NSCC", [1] = "Credit" }, 0xf0),
    mpr = ProtoField.uint8("uet_pds.mpr", "Maximum PSN range", base.DEC),
    sack_offset = ProtoField.int16("uet_pds.sack_offset", "First PSN of the map, relative to the cumulative one", base.DEC),
    sack_map = ProtoField.uint64("uet_pds.sack_map", "Map of received PSNs (lowest bit first)", base.HEX),
    service_time = ProtoField.uint16("uet_pds.service_time", "Service time", base.DEC),
    restore = ProtoField.bool("uet_pds.restore_window", "Restore the window", 8, nil, 0x80),
    penalty = ProtoField.uint8("uet_pds.window_penalty", "Window penalty (1/128)", base.DEC, nil, 0x7f),
    received = ProtoField.uint24("uet_pds.received", "Received (256 octets, Backwater's unit)", base.DEC),
    credit = ProtoField.uint24("uet_pds.credit", "Credit (256 octets)", base.DEC),
    out_of_order = ProtoField.uint16("uet_pds.out_of_order", "Packets out of order", base.DEC),
    code = ProtoField.uint8("uet_pds.nack_code", "NACK code", base.DEC, UET_CODES),
    vendor = ProtoField.uint8("uet_pds.vendor_code", "Vendor code", base.DEC),
    opaque = ProtoField.uint16("uet_pds.probe_opaque", "Probe opaque", base.HEX),
    payload = ProtoField.uint32("uet_pds.payload", "Payload of the header", base.HEX),
}
local uet_wrong = experts("uet_pds")
uet.fields, uet.experts = uet_fields, uet_wrong

-- Octets 8 to 11 of all types: the identifiers of the PDCs.
local function add_pdcs(tree, tvb)
    tree:add(uet_fields.source, tvb(8, 2))
    tree:add(uet_fields.destination, tvb(10, 2))
end

local function dissect_request(tree, tvb, kind)
    tree:add(uet_fields.next, tvb(0, 2))
    for _, field in ipairs({ "again", "ack_request", "syn" }) do tree:add(uet_fields[field], tvb(0, 2)) end
    tree:add(uet_fields.clear, tvb(2, 2))
    tree:add(uet_fields.psn, tvb(4, 4))
    add_pdcs(tree, tvb)
    if kind == 13 then
        tree:add(uet_fields.ccc, tvb(12, 1))
        tree:add(uet_fields.target, tvb(13, 3))
    end
    return "PSN " .. tvb(4, 4):uint()
end

local function dissect_ack(tree, tvb, kind)
    tree:add(uet_fields.next, tvb(0, 2))
    for _, field in ipairs({ "marked", "again", "probe", "request" }) do tree:add(uet_fields[field], tvb(0, 2)) end
    tree:add(uet_fields.offset, tvb(2, 2))
    tree:add(uet_fields.cumulative, tvb(4, 4))
    tree:add(uet_fields.psn, tvb(2, 6), (tvb(4, 4):uint() + tvb(2, 2):int()) % 2^32):set_generated()
    add_pdcs(tree, tvb)
    if kind == 8 then
        local cc_type = tree:add(uet_fields.cc_type, tvb(12, 1))
        tree:add(uet_fields.mpr, tvb(13, 1))
        tree:add(uet_fields.sack_offset, tvb(14, 2))
        tree:add(uet_fields.sack_map, tvb(16, 8))
        local state = tvb(12, 1):bitfield(0, 4)
        if state == 0 then
            tree:add(uet_fields.service_time, tvb(24, 2))
            tree:add(uet_fields.restore, tvb(26, 1))
            tree:add(uet_fields.penalty, tvb(26, 1))
            tree:add(uet_fields.received, tvb(27, 3))
        elseif state == 1 then
            tree:add(uet_fields.credit, tvb(24, 3))
        else
            cc_type:add_proto_expert_info(uet_wrong.value, "The type of CC state is neither 0 nor 1")
        end
        tree:add(uet_fields.out_of_order, tvb(30, 2))
    end
    return "all to PSN " .. tvb(4, 4):uint()
end

local function dissect_nack(tree, tvb)
    tree:add(uet_fields.next, tvb(0, 2))
    for _, field in ipairs({ "marked", "again", "nack_type" }) do tree:add(uet_fields[field], tvb(0, 2)) end
    tree:add(uet_fields.code, tvb(2, 1))
    tree:add(uet_fields.vendor, tvb(3, 1))
    tree:add(uet_fields.psn, tvb(4, 4))
    add_pdcs(tree, tvb)
    tree:add(uet_fields.payload, tvb(12, 4))
    local code = tvb(2, 1):uint()
    return string.format("PSN %d, %s", tvb(4, 4):uint(), UET_CODES[code] or "code " .. code)
end

local function dissect_control(tree, tvb)
    tree:add(uet_fields.control, tvb(0, 2))
    for _, field in ipairs({ "again", "ack_request", "syn" }) do tree:add(uet_fields[field], tvb(0, 2)) end
    tree:add(uet_fields.opaque, tvb(2, 2))
    tree:add(uet_fields.psn, tvb(4, 4))
    add_pdcs(tree, tvb)
    tree:add(uet_fields.payload, tvb(12, 4))
    local control = tvb(0, 2):bitfield(5, 4)
    if control == 7 or control == 8 then tree:add(uet_fields.credit, tvb(13, 3)) end
    return UET_CONTROLS[control] or "kind " .. control
end

local UET_DISSECTORS = {
    [2] = dissect_request, [13] = dissect_request, [7] = dissect_ack, [8] = dissect_ack,
    [10] = dissect_nack, [11] = dissect_control,
}

function uet.dissector(tvb, pinfo, root)
    local kind = tvb:captured_len() > 0 and tvb(0, 1):bitfield(0, 5)
    -- Types of encryption and of other kinds of delivery.
    if kind and kind >= 1 and kind <= 14 and not UET_LENGTHS[kind] then return DECLINED end
    pinfo.cols.protocol = "UET"
    local length = UET_LENGTHS[kind] or 1
    local tree = root:add(uet, tvb(0, math.min(length, tvb:captured_len())))
    if not enough(tree, uet_wrong, tvb, length) then return end
    local item = tree:add(uet_fields.type, tvb(0, math.min(2, tvb:captured_len())))
    if not UET_LENGTHS[kind] then
        item:add_proto_expert_info(uet_wrong.value, "Unknown type " .. kind)
        return
    end
    pinfo.cols.info = UET_TYPES[kind] .. ", " .. UET_DISSECTORS[kind](tree, tvb, kind)
end

-- Registration ----------------------------------------------------------------------------------------------------------

ethertypes:add(0x22e9, cntag)
ethertypes:add(0x22e7, cnm)
ethertypes:add(CIM_ETHERTYPE, cim)
ethertypes:add(0x8904, rlt)
ethertypes:add(0x88cc, lldp_ci)

-- Registers a protocol under the number in a preference, since no registry assigns one, and follows changes of the preference.
local function follow(proto, preference, places)
    local at = proto.prefs[preference]
    places:add(at, proto)
    function proto.prefs_changed()
        if proto.prefs[preference] == at then return end
        places:remove(at, proto)
        at = proto.prefs[preference]
        places:add(at, proto)
    end
end

if not udp_ports:get_dissector(UET_PORT) then udp_ports:add(UET_PORT, uet) end
udp_ports:add(SFC_PAUSE_PORT, sfc_pause)
follow(cim, "port", udp_ports)
follow(sfcm, "port", udp_ports)
follow(bcn, "ethertype", ethertypes)
