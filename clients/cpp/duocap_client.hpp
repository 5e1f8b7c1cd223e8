// Hear the poses of a running duocap in C++17: libzmq and msgpack-cxx, one header.
//
//     duocap::Client client("tcp://127.0.0.1:5570");
//     while (auto pose = client.latest(1000)) use(*pose, duocap::global_transforms(client.skeleton(), *pose));
//
// Metres, right-handed, Y up, performers facing +Z, quaternions x y z w. to_unreal gives centimetres, left-handed, Z up, facing +Y.
#pragma once

#ifndef MSGPACK_NO_BOOST
#define MSGPACK_NO_BOOST
#endif
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <msgpack.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>
#include <zmq.h>

namespace duocap {

using Vector = std::array<double, 3>;
using Quaternion = std::array<double, 4>;

struct Skeleton {
    std::string hash;
    std::vector<std::string> names;
    std::vector<int> parents;  // before their children; -1 is the root's
    std::vector<Vector> offsets_m;
    std::map<std::string, std::string> humanoid;  // joint to VRM bone
};

struct Pose {
    std::string hash, session, state;
    int64_t seq = 0, t_capture_ns = 0, t_publish_ns = 0;
    Vector root_m{};
    std::vector<Quaternion> rotations;  // local
};

struct Transform {
    Vector position{};
    Quaternion rotation{0, 0, 0, 1};
};

// The rotation b followed by a.
inline Quaternion product(const Quaternion& a, const Quaternion& b) {
    return {a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
            a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]};
}

inline Vector rotated(const Quaternion& q, const Vector& v) {
    const Vector t{2 * (q[1] * v[2] - q[2] * v[1]), 2 * (q[2] * v[0] - q[0] * v[2]), 2 * (q[0] * v[1] - q[1] * v[0])};
    return {v[0] + q[3] * t[0] + q[1] * t[2] - q[2] * t[1], v[1] + q[3] * t[1] + q[2] * t[0] - q[0] * t[2],
            v[2] + q[3] * t[2] + q[0] * t[1] - q[1] * t[0]};
}

// Place [m] and orientation of every joint in the world: G = G_parent L, p = p_parent + G_parent offset.
inline std::vector<Transform> global_transforms(const Skeleton& skeleton, const Pose& pose) {
    if (pose.hash != skeleton.hash || pose.rotations.size() != skeleton.names.size())
        throw std::invalid_argument("the pose belongs to another skeleton");
    std::vector<Transform> placed(skeleton.names.size());
    for (size_t j = 0; j < placed.size(); ++j) {
        if (skeleton.parents[j] < 0) {
            placed[j] = {pose.root_m, pose.rotations[j]};
            continue;
        }
        const Transform& above = placed[skeleton.parents[j]];
        const Vector step = rotated(above.rotation, skeleton.offsets_m[j]);
        placed[j].rotation = product(above.rotation, pose.rotations[j]);
        for (int i = 0; i < 3; ++i) placed[j].position[i] = above.position[i] + step[i];
    }
    return placed;
}

// Unreal's axes: (100 x, 100 z, 100 y), a mirror, which turns the sense of rotations.
inline Transform to_unreal(const Transform& ours) {
    const auto& [p, q] = ours;
    return {{100 * p[0], 100 * p[2], 100 * p[1]}, {-q[0], -q[2], -q[1], q[3]}};
}

namespace detail {

using Map = std::map<std::string, msgpack::object>;

// Throws std::out_of_range, msgpack::type_error or std::runtime_error for what is no message.
inline Map unpack(const char* body, size_t size, msgpack::object_handle& handle) {
    handle = msgpack::unpack(body, size, nullptr, nullptr, msgpack::unpack_limit(4096, 4096, 1 << 20, 1 << 20, 0, 16));
    Map map = handle.get().as<Map>();
    if (map.at("schema").as<int>() != 1) throw std::runtime_error("another schema");
    return map;
}

inline Skeleton skeleton_from(const Map& map) {
    Skeleton s{map.at("hash").as<std::string>(), map.at("names").as<std::vector<std::string>>(),
               map.at("parents").as<std::vector<int>>(), map.at("offsets_m").as<std::vector<Vector>>(),
               map.at("humanoid").as<std::map<std::string, std::string>>()};
    if (s.parents.size() != s.names.size() || s.offsets_m.size() != s.names.size()) throw std::runtime_error("torn skeleton");
    for (size_t j = 0; j < s.parents.size(); ++j)
        if (s.parents[j] < -1 || s.parents[j] >= static_cast<int>(j)) throw std::runtime_error("parents after children");
    return s;
}

inline Pose pose_from(const Map& map) {
    Pose pose;
    pose.hash = map.at("hash").as<std::string>();
    pose.session = map.at("session").as<std::string>();
    pose.state = map.at("state").as<std::string>();
    pose.seq = map.at("seq").as<int64_t>();
    pose.t_capture_ns = map.at("t_capture_ns").as<int64_t>();
    pose.t_publish_ns = map.at("t_publish_ns").as<int64_t>();
    pose.root_m = map.at("root_m").as<Vector>();
    const auto packed = map.at("rotations_xyzw").as<std::vector<char>>();
    if (packed.size() % 16) throw std::runtime_error("torn rotations");
    pose.rotations.resize(packed.size() / 16);
    for (size_t i = 0; i < packed.size() / 4; ++i) {
        const auto* b = reinterpret_cast<const unsigned char*>(packed.data()) + 4 * i;  // little-endian, whatever this machine is
        const uint32_t bits = b[0] | b[1] << 8 | b[2] << 16 | static_cast<uint32_t>(b[3]) << 24;
        float value;
        std::memcpy(&value, &bits, 4);
        pose.rotations[i / 4][i % 4] = value;
    }
    return pose;
}

}  // namespace detail

// CURVE keys of a stream from another machine (`duocap keys`), each 40 characters.
struct Keys {
    std::string server, own_public, own_secret;
};

// A subscriber; not shared between threads.
class Client {
public:
    explicit Client(const std::string& address = "tcp://127.0.0.1:5570", const std::optional<Keys>& keys = {}) {
        context_ = zmq_ctx_new();
        socket_ = zmq_socket(context_, ZMQ_SUB);
        const int linger = 0, high_water_mark = 16;
        const int64_t max_bytes = 1 << 20;
        zmq_setsockopt(socket_, ZMQ_LINGER, &linger, sizeof linger);
        zmq_setsockopt(socket_, ZMQ_RCVHWM, &high_water_mark, sizeof high_water_mark);
        zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
        if (keys) {
            zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, keys->server.c_str(), keys->server.size() + 1);
            zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, keys->own_public.c_str(), keys->own_public.size() + 1);
            zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, keys->own_secret.c_str(), keys->own_secret.size() + 1);
        }
        for (const char* topic : {"skeleton ", "pose "}) zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic, std::strlen(topic));
        if (zmq_connect(socket_, address.c_str()) != 0) {
            const std::string why = zmq_strerror(zmq_errno());
            close();
            throw std::runtime_error(address + ": " + why);
        }
    }
    ~Client() { close(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    const Skeleton& skeleton() const { return skeleton_; }
    int64_t missed() const { return missed_; }        // poses lost on the way, by their numbers
    int64_t malformed() const { return malformed_; }  // messages that could not be read

    // The newest pose whose skeleton is known; waits at most so long for one, nothing if none came.
    std::optional<Pose> latest(int timeout_ms) {
        std::optional<Pose> newest;
        int wait_ms = timeout_ms;
        while (poll(newest ? 0 : wait_ms)) {
            take(newest);
            wait_ms = std::min(wait_ms, 100);
        }
        if (newest && newest->hash != skeleton_.hash) newest.reset();
        return newest;
    }

private:
    bool poll(int timeout_ms) {
        zmq_pollitem_t item{socket_, 0, ZMQ_POLLIN, 0};
        return zmq_poll(&item, 1, timeout_ms) > 0;
    }

    void take(std::optional<Pose>& newest) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        if (zmq_msg_recv(&message, socket_, ZMQ_DONTWAIT) >= 0) {
            const char* data = static_cast<const char*>(zmq_msg_data(&message));
            const size_t size = zmq_msg_size(&message);
            const char* space = std::find(data, data + size, ' ');
            try {
                msgpack::object_handle handle;
                const auto map = detail::unpack(std::min(space + 1, data + size), data + size - std::min(space + 1, data + size), handle);
                if (std::string(data, space) == "skeleton")
                    skeleton_ = detail::skeleton_from(map);
                else
                    newest = counted(detail::pose_from(map));
            } catch (const std::exception&) {
                ++malformed_;
            }
        }
        zmq_msg_close(&message);
    }

    Pose counted(Pose pose) {
        if (pose.session == session_) missed_ += std::max<int64_t>(0, pose.seq - seq_ - 1);
        session_ = pose.session;
        seq_ = pose.seq;
        return pose;
    }

    void close() {
        zmq_close(socket_);
        zmq_ctx_term(context_);
    }

    void *context_ = nullptr, *socket_ = nullptr;
    Skeleton skeleton_;
    std::string session_;
    int64_t seq_ = 0, missed_ = 0, malformed_ = 0;
};

}  // namespace duocap
